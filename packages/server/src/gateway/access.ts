/**
 * The one place that says who may do what, for HTTP, streams and sockets alike. Roles, quotas and rate limits will grow here.
 */
import type { Caller } from "./caller.ts";

/** What can be asked for. A session's own things are also held to its owner, by every query. */
export const ACTIONS = ["read", "write", "decide", "share", "knowledge", "tokens"] as const;

export type Action = (typeof ACTIONS)[number];

/** A key without scopes may do everything of its tenant. */
export function isAllowed({ scopes }: Pick<Caller, "scopes">, action: Action): boolean {
  return scopes.length === 0 || scopes.includes(action);
}
