/**
 * `stopTurn` requests the stop of a turn. It does not stop the turn itself.
 *
 * Invariant: the request is stored first, so that the worker finds it even if the signal is lost.
 */
import type { StopReceipt } from "../../store/running-turns.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { CommandBackend } from "../backend.ts";
import { encodeSessionRef, hintRunningTurn, STOPS_CHANNEL } from "../signal-channels.ts";
import { defined } from "../../util/defined.ts";

export interface StopTurnOptions {
  /** Default: the running turn. */
  readonly turn?: string;
  readonly userId?: string;
}

/** Returns the receipt and the turn that it applies to; null if no turn runs. */
export async function stopTurn(
  { store, signals }: Pick<CommandBackend, "store" | "signals">,
  ref: SessionRef,
  { turn, userId }: StopTurnOptions,
): Promise<{ readonly receipt: StopReceipt; readonly turn: string | null }> {
  const stopped = await store.running.requestStop(ref, defined({ turn, by: userId }));
  // Also signal if a stop was already requested, because the earlier signal may be lost.
  if (stopped.receipt !== "over") {
    signals.send(STOPS_CHANNEL, encodeSessionRef(ref));
    // A parked turn runs in no worker.
    await hintRunningTurn({ store, signals }, ref);
  }
  return stopped;
}
