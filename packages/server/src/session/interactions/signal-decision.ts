/**
 * `signalDecision` wakes the turn that waits for a decision: in the worker that runs it, or in one that has a free slot
 * if the turn was parked.
 *
 * Invariant: it follows the commit of the decision and never throws. If a signal is lost, polling finds the decision.
 */
import type { SessionRef } from "../../util/refs.ts";
import type { CommandBackend } from "../backend.ts";
import { hintRunningTurn } from "../messages/hint-turn.ts";
import { DECISIONS_CHANNEL, encodeSessionRef } from "../signal-channels.ts";

export async function signalDecision(
  backend: Pick<CommandBackend, "store" | "signals">,
  ref: SessionRef,
): Promise<void> {
  backend.signals.send(DECISIONS_CHANNEL, encodeSessionRef(ref));
  await hintRunningTurn(backend, ref);
}
