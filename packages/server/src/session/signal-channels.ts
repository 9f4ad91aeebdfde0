/**
 * The signals about sessions: `STOPS_CHANNEL`, `DECISIONS_CHANNEL` and `TURNS_CHANNEL` name them, and `hintTurn`,
 * `hintRunningTurn` and `signalDecision` send them.
 *
 * Invariant: a signal is sent after the commit and never throws. If it is lost, a worker finds the change by polling.
 * Processes of several versions share the names and the format. A payload is untrusted and only names a session; the
 * receiver reads the facts from the store.
 */
import type { Json } from "@turnstream/protocol";
import { isStoreError } from "../store/errors.ts";
import { stringField } from "../util/json.ts";
import type { SessionRef } from "../util/refs.ts";
import type { CommandBackend } from "./backend.ts";

/** A stop of the session's turn was requested. */
export const STOPS_CHANNEL = "stops";

/** An interaction that the session's turn waits for was decided. */
export const DECISIONS_CHANNEL = "decisions";

/** A turn of this agent is queued. Empty for turns that every worker may run. */
export const TURNS_CHANNEL = "turns";

export function encodeSessionRef({ tenant, session }: SessionRef): string {
  return JSON.stringify({ tenant, session });
}

/** Returns null for an invalid payload, because any client of the signal server can send one. */
export function decodeSessionRef(text: string): SessionRef | null {
  try {
    const { tenant, session } = JSON.parse(text) as Record<string, unknown>;
    return typeof tenant === "string" && typeof session === "string" ? { tenant, session } : null;
  } catch {
    return null;
  }
}

type SignalBackend = Pick<CommandBackend, "store" | "signals">;

/**
 * Signals to the workers that a turn of an agent is queued.
 * @param options the options of the message or the turn
 */
export function hintTurn({ signals }: Pick<SignalBackend, "signals">, options: Json): void {
  signals.send(TURNS_CHANNEL, stringField(options, "agent") ?? "");
}

/** Signals that the session's turn, which waited for a user, is queued again. */
export async function hintRunningTurn(backend: SignalBackend, ref: SessionRef): Promise<void> {
  try {
    const row = await backend.store.running.get(ref);
    if (row !== null) hintTurn(backend, row.options);
  } catch (error) {
    if (!isStoreError(error)) throw error;
  }
}

/**
 * Wakes the turn that waits for a decision: in the worker that runs it, or in one that has a free slot if the turn was
 * parked.
 */
export async function signalDecision(backend: SignalBackend, ref: SessionRef): Promise<void> {
  backend.signals.send(DECISIONS_CHANNEL, encodeSessionRef(ref));
  await hintRunningTurn(backend, ref);
}
