/**
 * `Audit` is the sub-port of the audit trail.
 *
 * Invariant: audit rows are only added, and expired ones are dropped from the start of the chain. Each is chained to the
 * previous one by a hash (`rules/audit.ts`), so tampering can be detected (`rules/verify-audit.ts`). Rows contain ids and
 * numbers, never content, an address or the name of a user.
 */
import type { Json } from "@turnstream/protocol";
import type { AuditAction } from "../rules/audit-actions.ts";

export interface AuditEntry {
  /** The id of the user, or null for an action of the system or an operator. The row has the user's number instead. */
  readonly actor: string | null;
  readonly action: AuditAction;
  /**
   * The ids of the objects of the action, by kind. An id that could be a text or an address is stored as a hash; see
   * `toAuditId`.
   */
  readonly subject: Readonly<Record<string, string>>;
  /** Numbers, true, false, null, and ids as in `subject`. At most 4 KiB of JSON. */
  readonly detail?: Json;
}

export interface AuditRow {
  readonly tenant: string;
  /** 1, 2, 3 … within the tenant. */
  readonly n: number;
  readonly at: number;
  /** A number from `userNumbers`. */
  readonly actor: number | null;
  readonly action: string;
  /** Canonical JSON text. The stored text is exactly the text that was hashed. */
  readonly subject: string;
  readonly detail: string;
  readonly prevHash: string;
  /** The id of the key of the hash, or null for a hash without a key. */
  readonly keyId: string | null;
  readonly hash: string;
}

/** A position in a chain. */
export interface AuditHead {
  readonly n: number;
  readonly hash: string;
}

/**
 * The last row that was dropped because of its age. The chain continues after it. The signature shows that a process with
 * the audit key has dropped the rows.
 */
export interface AuditStart extends AuditHead {
  readonly tenant: string;
  /** When it was recorded, in milliseconds since 1970. */
  readonly at: number;
  /** Null without a signature. */
  readonly keyId: string | null;
  /** Null if the store has no key, or if no key protects the dropped rows. */
  readonly signature: string | null;
}

export interface AuditMaintenance {
  /** Tenants whose start was moved. Their rows before it are dropped afterwards. */
  readonly recorded: number;
  /** Periods that were dropped with all their rows. */
  readonly dropped: number;
}

export interface Audit {
  /**
   * Adds the tenant's next row. The end of the tenant's chain stays locked until the transaction ends, so make this the
   * last call of a transaction. If the row of an action that ends or restricts something can't be written, the store
   * reports that and returns null: such an action never waits for the audit (`rules/audit-actions.ts`).
   * @throws StoreError if the row of an action that grants something can't be written
   */
  add(tenant: string, entry: AuditEntry): Promise<AuditRow | null>;
  /**
   * Like `add`, for actions that are too frequent for a row each. Returns null if the mark was used before.
   * @param mark such as the action, its subject and the hour. Marks are pruned with those of the usage.
   */
  addOnce(tenant: string, mark: string, entry: AuditEntry): Promise<AuditRow | null>;
  /** Returns rows in the order of `n`. */
  list(tenant: string, page: { readonly after: number; readonly limit: number }): Promise<AuditRow[]>;
  /** Returns the end of the chain, or null if the tenant has no audit rows yet. */
  head(tenant: string): Promise<AuditHead | null>;
  /** Returns after which row the chain starts, or null if no row was dropped. */
  start(tenant: string): Promise<AuditStart | null>;
  /**
   * Creates the partitions for new rows. With `retentionMs`, it also drops the rows of the oldest four weeks, when all of
   * them are that old. First it records the start of each tenant, at most `limit` tenants per call. Call it until it does
   * nothing.
   * @throws StoreError with CONFLICT if the last row before a new start was tampered with, or has an unknown key. Then
   *   nothing is dropped.
   */
  maintain(query: { readonly retentionMs: number | null; readonly limit: number }): Promise<AuditMaintenance>;
}
