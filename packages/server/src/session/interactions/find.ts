/**
 * `findInteraction` returns the interaction that a user decides on. It does not change it.
 *
 * Invariant: a request reaches clients shortly before it is committed, so a fast decision can arrive first. While a
 * turn runs that may commit the request, the lookup waits for about one second. It must not run in a transaction.
 */
import { StoreError } from "../../store/errors.ts";
import type { Interaction } from "../../store/interactions.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { poll } from "../../util/retry.ts";

/** About one second, because a request for an unknown interaction should not wait longer. */
const POLLING = { timeoutMs: 1_035, initialDelayMs: 5, maxDelayMs: 400 };

/** Don't call it in a transaction, because it may wait. @throws StoreError NOT_FOUND */
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
  // Read once more: the turn may have committed the request and ended between the two reads.
  return (await poll(find, { ...POLLING, isDone })) ?? find();
}
