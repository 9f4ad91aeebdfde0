/**
 * The request that a person reacts to. It is told a moment before it is committed, so who is quick may come in between: then
 * it is waited for, as long as a turn runs that may be about to commit it. Never changes one.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../../store/errors.ts";
import type { Interaction } from "../../store/ports/interactions.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Store } from "../../store/store.ts";

/** Together about a second: who names something that was never told should not wait for longer. */
const WAITS_MS = [5, 10, 20, 40, 80, 160, 320, 400];

/** Throws NOT_FOUND. Outside of transactions, since it may wait. */
export async function findInteraction(
  store: Store,
  ref: SessionRef,
  key: string,
  kind: Interaction["kind"],
): Promise<Interaction> {
  const found = await waitForInteraction(store, ref, key);
  if (found?.kind !== kind) throw new StoreError("NOT_FOUND", `${kind} ${key}`);
  return found;
}

export async function waitForInteraction(
  store: Store,
  ref: SessionRef,
  key: string,
): Promise<Interaction | null> {
  for (const ms of WAITS_MS) {
    const found = await store.interactions.byKey(ref, key);
    if (found !== null) return found;
    if ((await store.running.get(ref)) === null) break;
    await sleep(ms);
  }
  // Once more: a turn may have committed it and ended between the two looks.
  return store.interactions.byKey(ref, key);
}
