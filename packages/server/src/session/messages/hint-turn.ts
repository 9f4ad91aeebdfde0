/**
 * `hintTurn` signals to the workers that a turn of an agent is queued. `hintRunningTurn` does so for the session's turn,
 * which waited for a user.
 *
 * Invariant: a signal is sent after the commit and never throws. If it is lost, a worker finds the turn by polling.
 */
import type { Json } from "@turnstream/protocol";
import { isStoreError } from "../../store/errors.ts";
import type { SessionRef } from "../../util/refs.ts";
import { stringField } from "../../util/json.ts";
import type { CommandBackend } from "../backend.ts";
import { TURNS_CHANNEL } from "../signal-channels.ts";

/** @param options the options of the message or the turn */
export function hintTurn({ signals }: Pick<CommandBackend, "signals">, options: Json): void {
  signals.send(TURNS_CHANNEL, stringField(options, "agent") ?? "");
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
