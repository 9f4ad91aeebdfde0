/**
 * `turnKey` returns a key that identifies a turn among all sessions. Pure.
 *
 * Invariant: tools use it in idempotency keys, so the format must not change. It contains only ids and no user content.
 */
import type { SessionRef } from "../../util/refs.ts";

export interface TurnRef extends SessionRef {
  readonly turn: string;
}

/** Neither a session id nor an encoded tenant has a slash. */
export function turnKey({ tenant, session, turn }: TurnRef): string {
  return `${session}/${encodeURIComponent(tenant)}/${turn}`;
}
