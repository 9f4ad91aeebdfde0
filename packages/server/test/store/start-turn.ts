/** `startTurn` makes a process run the turn of one session, as a worker does. */
import type { StartedTurn } from "../../src/store/turn-queue.ts";
import type { Store } from "../../src/store/store.ts";
import type { SessionRef } from "../../src/util/refs.ts";

/** Longer than any test. */
export const YEAR_MS = 365 * 24 * 3_600_000;

/** Other turns that it gets return to the queue. @returns null if the session has no turn to start */
export async function startTurn(
  { queue, leases }: Pick<Store, "queue" | "leases">,
  { tenant, session }: SessionRef,
  { executor = "w", agents = [] as readonly string[] } = {},
): Promise<StartedTurn | null> {
  await leases.take(executor, YEAR_MS);
  const started = await queue.start({ executor, agents, limit: 1_000, isIdle: false });
  const isMine = ({ held }: StartedTurn): boolean => held.tenant === tenant && held.session === session;
  await queue.release(started.filter((turn) => !isMine(turn)).map(({ held }) => held));
  return started.find(isMine) ?? null;
}
