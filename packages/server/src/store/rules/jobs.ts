/**
 * `rankOf`, `recoveryDelayMs` and the other rules of the job queue, for both stores. Pure.
 *
 * Invariant: jobs are fetched by rank, the lowest first. A job's rank is at least the rank up to which jobs were started,
 * so ranks of new jobs grow with the work that is done, and no queued job is overtaken for ever.
 */
import type { Json } from "@turnstream/protocol";
import { isId } from "../../util/names.ts";
import { stringField } from "../../util/json.ts";

/** A fetched job returns to the queue if its turn was not started and no heartbeat came for this long. */
export const HEARTBEAT_SECONDS = 15;
/** The rank must fit into a 32-bit integer. Above, jobs are fetched in the order of their creation. */
export const MAX_RANK = 2 ** 30;
/** At most this many users of a tenant are counted for a rank. */
export const MAX_RANKED_USERS = 50;

export interface RankState {
  /** The highest rank of a running turn. */
  readonly started: number;
  /** How many users of the tenant have queued jobs. */
  readonly users: number;
  /** Whether the job's user is one of them. */
  readonly isQueued: boolean;
  /** The highest rank of the user's queued and running turns, or null. */
  readonly last: number | null;
}

/**
 * Tenants take turns, and so do the users of a tenant: the next job of a user comes one round of the tenant's users
 * after their last one. A tenant without jobs starts at the rank that is being started now.
 */
export function rankOf({ started, users, isQueued, last }: RankState): number {
  const first = started + (isQueued ? 0 : users);
  const next = last === null ? 0 : last + Math.max(users, 1);
  return Math.min(Math.max(first, next), MAX_RANK);
}

/** The first death costs no time: usually the process died for another reason. */
export function recoveryDelayMs(deaths: number): number {
  return deaths <= 1 ? 0 : 1_000 * 2 ** Math.min(deaths - 2, 6);
}

/** Returns the agent that the options name, or null. */
export function agentOf(options: Json | undefined): string | null {
  const agent = stringField(options ?? null, "agent");
  return agent !== null && isId(agent) ? agent : null;
}
