/**
 * What a contract suite gets to work on, and the two ways to make it. Every suite gets a store of its own, so
 * it may look at everything in it; every test in it takes tenants of its own.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import type { Env } from "../../src/util/env.ts";
import { createMemoryStore } from "../../src/store/memory/store.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import type { Actor, SessionRef } from "../../src/store/refs.ts";

export interface Harness {
  readonly store: ClosableStore;
  /** Lets time pass, by the clock that the store goes by. */
  wait(ms: number): Promise<void>;
}

export type MakeStore = () => Promise<Harness>;

let count = 0;

/** An id that no other test of this process has. */
export function unique(prefix: string): string {
  count += 1;
  return `${prefix}_${count}`;
}

export async function memoryHarness(): Promise<Harness> {
  let now = 1_800_000_000_000;
  // Every look at the clock is a little later, as it is with a real one.
  const env: Env = {
    now: () => (now += 1),
    id: () => unique("id"),
    randomBytes: (size) => randomBytes(size),
  };
  return {
    store: createMemoryStore(env),
    wait: async (ms) => {
      now += ms;
      // Others get their turn too.
      await sleep(0);
    },
  };
}

export async function newTenant(store: ClosableStore): Promise<string> {
  const id = unique("tenant");
  await store.tenants.create({ id, name: "A tenant" });
  return id;
}

/** A person of a new tenant, and a session of theirs. */
export async function newSession(store: ClosableStore): Promise<{ actor: Actor; ref: SessionRef }> {
  const actor = { tenant: await newTenant(store), user: unique("user") };
  const session = unique("session");
  await store.sessions.create(actor, { id: session, firstEpoch: 1 });
  return { actor, ref: { tenant: actor.tenant, session } };
}
