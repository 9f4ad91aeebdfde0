/**
 * `rankOf`, `mustRunAlone`, `recoveryDelayMs` and the other rules of the job queue, for both stores. Pure.
 *
 * Invariant: jobs are fetched by rank, the lowest first. A job's rank is at least the rank up to which jobs were started,
 * so ranks of new jobs grow with the work that is done, and no queued job is overtaken for ever.
 */
import type { Json } from "@turnstream/protocol";
import { isId } from "../../util/names.ts";
import { stringField } from "../../util/json.ts";
import { DEATHS_BEFORE_ALONE } from "../ports/jobs.ts";

/** A fetched job returns to the queue if its turn was not started and no heartbeat came for this long. */
export const HEARTBEAT_SECONDS = 15;
/** The rank must fit into a 32-bit integer. Above, jobs are fetched in the order of their creation. */
const MAX_RANK = 2 ** 30;

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

/** From this on, a turn is suspected to have ended its process. */
export const MIN_SUSPICION = 2;
/**
 * If more turns are suspected equally, no single one of them ends the processes. After one death, any other running tool
 * is reason enough for doubt: waiting for an idle worker costs the user time.
 */
const MAX_SUSPECTED = 3;
const MAX_SUSPECTED_ONCE = 1;
/** After this many deaths, a turn runs alone in any case: others must not die with it until they are given up. */
const MAX_SHARED_DEATHS = 3;

/** A turn in which a tool ran is suspected as much as one with another death. */
export function suspicionOf(deaths: number, hadTool: boolean): number {
  return deaths + (hadTool ? 1 : 0);
}

/**
 * The most suspected turns run alone. If many are suspected equally, for example because a machine failed, they would
 * run one after the other, so they run together until their third death.
 * @param suspicions those of all running turns, with this one; those below `MIN_SUSPICION` may be missing
 */
export function mustRunAlone(
  turn: { readonly deaths: number; readonly suspicion: number },
  suspicions: readonly number[],
): boolean {
  const { deaths, suspicion } = turn;
  if (deaths >= MAX_SHARED_DEATHS) return true;
  const rivals = suspicions.filter((other) => other >= suspicion).length;
  const most = deaths < DEATHS_BEFORE_ALONE ? MAX_SUSPECTED_ONCE : MAX_SUSPECTED;
  return suspicion >= MIN_SUSPICION && rivals <= most;
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
