/**
 * `jobId` and `parseJobId` convert between a turn and the id of its engine job. Pure.
 *
 * Invariant: `parseJobId` returns what `jobId` got. The id starts with `jobPrefix`, which erasure uses. Engines store
 * ids and tools use them in idempotency keys, so the format must not change. It contains only ids and no user content.
 */
import type { SessionRef } from "../../util/refs.ts";

export interface TurnRef extends SessionRef {
  readonly turn: string;
}

export function jobId(ref: TurnRef): string {
  return `${jobPrefix(ref)}${ref.turn}`;
}

/** Returns the common prefix of all job ids of a session. Neither a session id nor an encoded tenant has a slash. */
export function jobPrefix({ tenant, session }: SessionRef): string {
  return `${session}/${encodeURIComponent(tenant)}/`;
}

export function parseJobId(id: string): TurnRef | null {
  const [session, tenant, ...turn] = id.split("/");
  if (tenant === undefined || session === undefined || turn.length === 0) return null;
  return { tenant: decodeURIComponent(tenant), session, turn: turn.join("/") };
}
