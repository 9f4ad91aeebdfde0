/**
 * `STOPS_CHANNEL` and `DECISIONS_CHANNEL` name the signals about sessions; `encodeSessionRef` and `decodeSessionRef`
 * convert their payload. `turnTopic` names the hints about queued jobs.
 *
 * Invariant: processes of several versions share these names and this format. A payload is untrusted and only names a
 * session; the receiver reads the facts from the store.
 */
import type { SessionRef } from "../util/refs.ts";

/** A stop of the session's turn was requested. */
export const STOPS_CHANNEL = "stops";

/** An interaction that the session's turn waits for was decided. */
export const DECISIONS_CHANNEL = "decisions";

const TOPIC_PREFIX = "turns:";

/** @param agent null if the message names no agent */
export function turnTopic(agent: string | null): string {
  return agent === null ? TOPIC_PREFIX : `${TOPIC_PREFIX}${agent}`;
}

/** Returns the agent of a topic, null for messages without an agent, or undefined for an unknown topic. */
export function parseTurnTopic(topic: string): string | null | undefined {
  if (!topic.startsWith(TOPIC_PREFIX)) return undefined;
  return topic.slice(TOPIC_PREFIX.length) || null;
}

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
