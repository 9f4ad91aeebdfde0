/** The words that go over `signals/` about sessions: whom they wake, and what they say. Never sends or listens. */
import type { SessionRef } from "../store/refs.ts";

/** A message waits in a session. */
export const TURNS_CHANNEL = "turns";
/** Somebody wants the turn of a session stopped. */
export const STOPS_CHANNEL = "stops";

/** Somebody has decided on what a turn of a session waits for. */
export const DECISIONS_CHANNEL = "decisions";

export function encodeSessionRef({ tenant, session }: SessionRef): string {
  return JSON.stringify({ tenant, session });
}

/** Null for what isn't one: anybody who reaches the server of the signals can say anything. */
export function decodeSessionRef(text: string): SessionRef | null {
  try {
    const { tenant, session } = JSON.parse(text) as Record<string, unknown>;
    return typeof tenant === "string" && typeof session === "string" ? { tenant, session } : null;
  } catch {
    return null;
  }
}
