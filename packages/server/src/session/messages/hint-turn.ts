/**
 * `hintTurn` signals to one worker that a job of an agent is queued. `hintRunningTurn` does so for the session's turn, which
 * was parked and has a job again.
 *
 * Invariant: a hint is sent after the commit and never throws. If it is lost, a worker finds the job by polling.
 */
import type { Json } from "@turnstream/protocol";
import { isStoreError } from "../../store/errors.ts";
import type { SessionRef } from "../../util/refs.ts";
import { stringField } from "../../util/json.ts";
import type { CommandBackend } from "../backend.ts";
import { turnTopic } from "../signal-channels.ts";

/** @param options the options of the message or the turn */
export function hintTurn({ signals }: Pick<CommandBackend, "signals">, options: Json): void {
  signals.hint(turnTopic(stringField(options, "agent")));
}

export async function hintRunningTurn(
  backend: Pick<CommandBackend, "store" | "signals">,
  ref: SessionRef,
): Promise<void> {
  try {
    const row = await backend.store.running.get(ref);
    if (row !== null) hintTurn(backend, row.options);
  } catch (error) {
    if (!isStoreError(error)) throw error;
  }
}
