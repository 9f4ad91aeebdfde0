/**
 * The request that a person reacts to. It is told a moment before it is committed, so who is quick may come in between: then
 * it is waited for, as long as a turn runs that may be about to commit it. Never changes one.
 */
import { StoreError } from "../../store/errors.ts";
import type { Interaction } from "../../store/ports/interactions.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Store } from "../../store/store.ts";
import { poll } from "../../util/retry.ts";

/** About a second: a caller that names an unknown interaction should not wait for longer. */
const POLLING = { timeoutMs: 1_035, initialDelayMs: 5, maxDelayMs: 400 };

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
  const find = () => store.interactions.byKey(ref, key);
  const isDone = async (found: Interaction | null) =>
    found !== null || (await store.running.get(ref)) === null;
  // Once more: a turn may have committed it and ended between the two looks.
  return (await poll(find, { ...POLLING, isDone })) ?? find();
}
