/**
 * Harnesses for the contract suites, and the memory implementation. Every suite gets its own store, so it can read
 * everything in it. Every test creates its own tenants.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import type { Env } from "../../src/util/env.ts";
import { createMemoryStore } from "@turnstream/testing";
import type { ClosableStore } from "../../src/store/store.ts";
import type { Actor, SessionRef } from "../../src/util/refs.ts";

export interface Harness {
  readonly store: ClosableStore;
  /** Advances the clock of the store. */
  wait(ms: number): Promise<void>;
}

export type MakeStore = () => Promise<Harness>;

let count = 0;

/** An id that no other test of this process uses. */
export function unique(prefix: string): string {
  count += 1;
  return `${prefix}_${count}`;
}

/** The audit entries that the stores of all harnesses could not write. */
export const lostEntries: string[] = [];

export function noteLostEntry(_error: unknown, { during }: { readonly during: string }): void {
  lostEntries.push(during);
}

export async function memoryHarness(): Promise<Harness> {
  let now = 1_800_000_000_000;
  // Every read of the clock is a little later, as with a real one.
  const env: Env = {
    now: () => (now += 1),
    id: () => unique("id"),
    randomBytes: (size) => randomBytes(size),
  };
  return {
    store: createMemoryStore(env, { onError: noteLostEntry }),
    wait: async (ms) => {
      now += ms;
      // Lets other tasks run.
      await sleep(0);
    },
  };
}

/** False for the store in memory, which erases no users and tenants, and deletes few rows because of their age. */
export function isWhole(name: string): boolean {
  return name !== "memory";
}

export async function newTenant(store: ClosableStore): Promise<string> {
  const id = unique("tenant");
  await store.tenants.create({ id, name: "A tenant" });
  return id;
}

/** Returns the erased sessions whose logs may still exist. */
export async function pendingErasures(store: ClosableStore): Promise<SessionRef[]> {
  const taken = await store.sessions.takeErasures({ limit: 1_000, leaseMs: 0, graceMs: 0 });
  // PostgreSQL rounds the end of the lease up to the next millisecond.
  await sleep(2);
  return taken;
}

/** Creates a user of a new tenant, and a session of that user. */
export async function newSession(store: ClosableStore): Promise<{ actor: Actor; ref: SessionRef }> {
  const actor = { tenant: await newTenant(store), user: unique("user") };
  const session = unique("session");
  await store.sessions.create(actor, { id: session, firstEpoch: 1 });
  return { actor, ref: { tenant: actor.tenant, session } };
}
