/**
 * `STOPS_CHANNEL` and `DECISIONS_CHANNEL` name the signals about sessions; `encodeSessionRef` and `decodeSessionRef`
 * convert their payload. `TURNS_CHANNEL` names the signal that a turn is queued.
 *
 * Invariant: processes of several versions share these names and this format. A payload is untrusted and only names a
 * session; the receiver reads the facts from the store.
 */
import type { SessionRef } from "../util/refs.ts";

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
