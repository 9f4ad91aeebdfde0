/**
 * The port of the system of record, as one object of small sub-ports. Each sub-port states its guarantees in
 * its own file; `postgres/` and `memory/` keep them alike, and the same contract suites run on both.
 * Never knows the log, nor who reads or writes it.
 */
import type { Allowances, FormDrafts, Interactions } from "./ports/interactions.ts";
import type { Archive, Outbox, Turns } from "./ports/archive.ts";
import type { Attachments, Blobs, Uploads } from "./ports/files.ts";
import type { Audit, UsageLedger } from "./ports/audit.ts";
import type { Epochs, UserNumbers, Sessions, Tenants } from "./ports/sessions.ts";
import type { Idempotency, Keys, Shares, Tickets } from "./ports/access.ts";
import type { Journal, Leases, RunningTurns, QueuedMessages } from "./ports/running.ts";
import type { Knowledge, Memories } from "./ports/knowledge.ts";
import type { Payments } from "./ports/payments.ts";

/** Everything that can take part in a transaction. */
export interface StorePorts {
  readonly tenants: Tenants;
  readonly sessions: Sessions;
  readonly epochs: Epochs;
  readonly turns: Turns;
  readonly queuedMessages: QueuedMessages;
  readonly running: RunningTurns;
  readonly journal: Journal;
  readonly archive: Archive;
  readonly outbox: Outbox;
  readonly blobs: Blobs;
  readonly attachments: Attachments;
  readonly uploads: Uploads;
  readonly leases: Leases;
  readonly shares: Shares;
  readonly keys: Keys;
  readonly userNumbers: UserNumbers;
  readonly interactions: Interactions;
  readonly allowances: Allowances;
  readonly formDrafts: FormDrafts;
  readonly payments: Payments;
  readonly usage: UsageLedger;
  readonly audit: Audit;
  readonly memories: Memories;
  readonly knowledge: Knowledge;
  readonly tickets: Tickets;
  readonly idempotency: Idempotency;
}

export interface Store extends StorePorts {
  /**
   * What is done through `tx` is committed together when `work` returns, or not at all when it throws.
   * `work` may be called again (after a deadlock, say), so it should do nothing outside `tx` that can't be
   * repeated. Within a transaction, `transaction` joins the one that runs. In `work`, use only `tx`.
   *
   * Once a call on `tx` has thrown, nothing will be committed, even if `work` catches the error: further calls throw
   * ABORTED, and so do calls after the end. The end waits for calls that are still under way.
   */
  transaction<T>(work: (tx: Store) => Promise<T>): Promise<T>;
}

export interface ClosableStore extends Store {
  close(): Promise<void>;
}
