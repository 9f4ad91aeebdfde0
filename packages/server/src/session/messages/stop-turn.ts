/**
 * Stopping a turn: noted in the store, where its worker finds it however late, then signalled so that it looks at
 * once. Never stops anything itself.
 */
import type { StopReceipt } from "../../store/ports/running.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { CommandBackend } from "../backend.ts";
import { encodeSessionRef, STOPS_CHANNEL } from "../signal-channels.ts";

export interface StopTurnOptions {
  /** Without it: whichever runs. */
  readonly turn?: string;
  readonly userId?: string;
}

/** The receipt, and which turn it is for; null when it is over. */
export async function stopTurn(
  { store, signals }: Pick<CommandBackend, "store" | "signals">,
  ref: SessionRef,
  { turn, userId }: StopTurnOptions,
): Promise<{ readonly receipt: StopReceipt; readonly turn: string | null }> {
  const stopped = await store.running.requestStop(ref, {
    ...(turn === undefined ? {} : { turn }),
    ...(userId === undefined ? {} : { by: userId }),
  });
  // Also when somebody had asked before: their signal may be lost.
  if (stopped.receipt !== "over") signals.send(STOPS_CHANNEL, encodeSessionRef(ref));
  return stopped;
}
