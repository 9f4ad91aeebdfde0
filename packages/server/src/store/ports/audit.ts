/**
 * The sub-port for the audit: what was done, by whom, to what. Rows are only ever added, and each is chained to
 * the one before it by a hash (rules/audit.ts), so that tampering shows (rules/verify-audit.ts).
 * Never holds content or the name of a person: ids and numbers only.
 */
import type { Json, Usage } from "@turnstream/protocol";

export interface AuditEntry {
  /** A number from `userNumbers`; null when the system itself did it. */
  readonly actor: number | null;
  /** A word like `session.delete`. */
  readonly action: string;
  /** The ids of what it was done to, by kind: letters, digits and `_ . : / -`. A person is named by their number. */
  readonly subject: Readonly<Record<string, string>>;
  /** Numbers, true, false, null and ids as in `subject`; at most 4 KiB of JSON. */
  readonly detail?: Json;
}

export interface AuditRow {
  readonly tenant: string;
  /** 1, 2, 3 … within the tenant. */
  readonly n: number;
  readonly at: number;
  readonly actor: number | null;
  readonly action: string;
  /** Canonical JSON, as text: what was hashed is what is kept. */
  readonly subject: string;
  readonly detail: string;
  readonly prevHash: string;
  readonly hash: string;
}

/** A position in a chain. */
export interface AuditHead {
  readonly n: number;
  readonly hash: string;
}

export interface Audit {
  /**
   * Adds the tenant's next row. The end of the tenant's chain stays locked until the transaction ends: do it
   * last, so that others wait little.
   */
  add(tenant: string, entry: AuditEntry): Promise<AuditRow>;
  /** By n. */
  list(tenant: string, page: { readonly after: number; readonly limit: number }): Promise<AuditRow[]>;
  /** The end of the chain; null when the tenant has no audit yet. */
  head(tenant: string): Promise<AuditHead | null>;
}

/** The sub-port for what a tenant has used, by day and model. Counts only; outlives the sessions it came from. */
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
export const MAX_USAGE = Number.MAX_SAFE_INTEGER;

export interface UsageLedger {
  /** False when this key was counted before; then nothing is added. A sum stops at MAX_USAGE. */
  add(tenant: string, usage: UsageAdd): Promise<boolean>;
  /** From and to are days, both included; by day, then model. */
  list(tenant: string, from: string, to: string): Promise<UsageDay[]>;
  /** Forgets keys that nobody will repeat any more. The counts stay. */
  pruneMarks(page: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}
