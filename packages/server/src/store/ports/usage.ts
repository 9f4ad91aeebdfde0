/** The sub-port for what a tenant has used, by day and model. Counts only; outlives the sessions it came from. */
import type { Usage } from "@turnstream/protocol";

export interface UsageAdd extends Usage {
  /** Counted once per tenant, such as a turn's id. */
  readonly key: string;
  /** `YYYY-MM-DD` in UTC; today by the database's clock when absent. */
  readonly day?: string;
  /** "" when absent. */
  readonly model?: string;
  readonly turns: number;
}

export interface UsageDay extends Usage {
  readonly day: string;
  readonly model: string;
  readonly turns: number;
}

/** Where counts stop: the largest whole number that every reader of JSON can tell from its neighbours. */
export const MOST_USAGE = Number.MAX_SAFE_INTEGER;

export interface UsageLedger {
  /** False when this key was counted before; then nothing is added. A sum stops at MOST_USAGE. */
  add(tenant: string, usage: UsageAdd): Promise<boolean>;
  /** From and to are days, both included; by day, then model. */
  list(tenant: string, from: string, to: string): Promise<UsageDay[]>;
  /** Forgets keys that nobody will repeat any more. The counts stay. */
  pruneMarks(page: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}
