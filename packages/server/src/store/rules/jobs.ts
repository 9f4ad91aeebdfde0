/**
 * `rankOf`, `mustRunAlone`, `recoveryDelayMs` and the other rules of the job queue, for both stores. Pure.
 *
 * Invariant: jobs are fetched by rank, the lowest first. A job's rank is at least the rank up to which jobs were started,
 * so ranks of new jobs grow with the work that is done, and no queued job is overtaken for ever.
 */
import type { Json } from "@turnstream/protocol";
import { isId } from "../../util/names.ts";
import { stringField } from "../../util/json.ts";
import { DEATHS_BEFORE_SUSPECTED } from "../ports/jobs.ts";

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

/** After this many deaths, a turn runs alone in any case. */
const MAX_SHARED_DEATHS = 3;
/** If more turns are suspected, no single one of them ends the processes. */
const MAX_SUSPECTED = 3;

/**
 * A turn may have ended its process if a tool ran in it, or if two processes have died. It then runs alone. If many turns
 * are suspected, for example because a machine failed, they would run one after the other, so they run together until the
 * third death.
 * @param suspected how many turns are suspected, with this one
 */
export function mustRunAlone(
  turn: { readonly deaths: number; readonly hadTool: boolean },
  suspected: number,
): boolean {
  return turn.deaths >= MAX_SHARED_DEATHS || (isSuspected(turn) && suspected <= MAX_SUSPECTED);
}

export function isSuspected({
  deaths,
  hadTool,
}: {
  readonly deaths: number;
  readonly hadTool: boolean;
}): boolean {
  return hadTool || deaths >= DEATHS_BEFORE_SUSPECTED;
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
