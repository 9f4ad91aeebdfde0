/**
 * `rankOf` is the order of the queue of turns, for both stores, `epochStep` how much an epoch grows, and `agentOf` the agent
 * that a turn needs. Pure.
 *
 * Invariant: turns are started by rank, the lowest first. The rank of a new turn is at least the one up to which turns were
 * started, so ranks grow with the work that is done, and no queued turn is overtaken for ever.
 */
import type { Json } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import { isId } from "../../util/names.ts";
import { stringField } from "../../util/json.ts";

export interface RankState {
  /** The highest rank of a running turn. */
  readonly started: number;
  /** How many users of the tenant have queued turns. */
  readonly users: number;
  /** Whether the turn's user is one of them. */
  readonly isQueued: boolean;
  /** The highest rank of the user's queued and running turns, or null. */
  readonly last: number | null;
}

/**
 * Tenants take turns, and so do the users of a tenant: the next turn of a user comes one round of the tenant's users
 * after their last one. A tenant without turns starts at the rank that is being started now.
 */
export function rankOf({ started, users, isQueued, last }: RankState): number {
  const first = started + (isQueued ? 0 : users);
  const next = last === null ? 0 : last + Math.max(users, 1);
  return Math.max(first, next);
}

/**
 * Returns how much higher the epoch of an attempt is than the one before. It is random, so that a database that has lost
 * commits doesn't issue a lost epoch again, and small enough that an epoch never needs more than the 15 digits of a cursor.
 */
export function epochStep(env: Pick<Env, "randomBytes">): number {
  const bytes = env.randomBytes(2);
  return 1 + new DataView(bytes.buffer, bytes.byteOffset, 2).getUint16(0);
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
