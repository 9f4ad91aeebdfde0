/**
 * `UsageLedger` is the sub-port of the usage of tenants, API keys and users by day and model.
 *
 * Invariant: an idempotency key is counted once, for the tenant, the API key and the user together. The counts outlive
 * the sessions they came from. Those of a user are erased with the user; the sums of the tenant and of the keys stay.
 */
import type { Usage } from "@turnstream/protocol";
import type { Actor } from "../../util/refs.ts";

/** What one turn or call has used. */
export interface UsageAdd extends Usage {
  /** An idempotency key within the tenant, such as a turn id. */
  readonly key: string;
  /** The user whose turn it was. Default: it counts for the tenant only. */
  readonly user?: string;
  /** The id of the API key behind the turn. Default: it counts for no key. */
  readonly apiKey?: string | null;
  /** `YYYY-MM-DD` in UTC. @default today, by the database's clock */
  readonly day?: string;
  /** @default "" */
  readonly model?: string;
  readonly turns: number;
  /** In the currency of the agent's `pricing`, rounded to millionths. @default 0 */
  readonly cost?: number;
}

export interface UsageDay extends Usage {
  readonly day: string;
  readonly model: string;
  readonly turns: number;
  readonly cost: number;
}

/** Sums stop here: the largest integer that every JSON reader represents exactly. */
export const MAX_USAGE = Number.MAX_SAFE_INTEGER;

export interface UsageLedger {
  /** Adds usage. Returns false and adds nothing if the key was counted before. A sum stops at MAX_USAGE. */
  add(tenant: string, usage: UsageAdd): Promise<boolean>;
  /** Returns the days from `from` to `to`, both included, ordered by day and then model. */
  list(tenant: string, from: string, to: string): Promise<UsageDay[]>;
  /** The same for one user. */
  listUser(actor: Actor, from: string, to: string): Promise<UsageDay[]>;
  /** The same for one API key. */
  listKey(tenant: string, apiKey: string, from: string, to: string): Promise<UsageDay[]>;
  /** Deletes old idempotency keys that will not be repeated. The counts stay. */
  pruneMarks(page: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}
