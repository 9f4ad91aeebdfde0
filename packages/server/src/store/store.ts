/**
 * `Store` is the port of the system of record: one object of small sub-ports, each with its guarantees in `ports/`.
 * Types only.
 *
 * Invariant: `postgres/` and `memory/` implement every sub-port with the same behavior, and the same contract suites
 * run on both. Every method can take part in a transaction. The store does not know the log.
 */
import type { Allowances, FormDrafts, Interactions } from "./ports/interactions.ts";
import type { Agents } from "./ports/agents.ts";
import type { Archive, Outbox, Turns } from "./ports/archive.ts";
import type { Attachments, Blobs, Uploads } from "./ports/files.ts";
import type { Audit } from "./ports/audit.ts";
import type { Epochs, UserNumbers, Sessions, Tenants } from "./ports/sessions.ts";
import type { Idempotency, Keys, Shares, Tickets } from "./ports/access.ts";
import type { Journal, Leases, RunningTurns, QueuedMessages } from "./ports/running.ts";
import type { TurnQueue } from "./ports/turn-queue.ts";
import type { Knowledge, Memories } from "./ports/knowledge.ts";
import type { CallerLimits } from "./ports/limits.ts";
import type { StoredObjects } from "./ports/objects.ts";
import type { Payments } from "./ports/payments.ts";
import type { UsageLedger } from "./ports/usage.ts";
import type { Webhooks } from "./ports/webhooks.ts";

/** All sub-ports. Each can take part in a transaction. */
export interface StorePorts {
  readonly tenants: Tenants;
  readonly sessions: Sessions;
  readonly epochs: Epochs;
  readonly turns: Turns;
  readonly queuedMessages: QueuedMessages;
  readonly running: RunningTurns;
  readonly queue: TurnQueue;
  readonly journal: Journal;
  readonly archive: Archive;
  readonly outbox: Outbox;
  readonly blobs: Blobs;
  readonly attachments: Attachments;
  readonly uploads: Uploads;
  readonly objects: StoredObjects;
  readonly leases: Leases;
  readonly shares: Shares;
  readonly keys: Keys;
  readonly userNumbers: UserNumbers;
  readonly interactions: Interactions;
  readonly allowances: Allowances;
  readonly formDrafts: FormDrafts;
  readonly payments: Payments;
  readonly usage: UsageLedger;
  readonly limits: CallerLimits;
  readonly audit: Audit;
  readonly agents: Agents;
  readonly memories: Memories;
  readonly knowledge: Knowledge;
  readonly tickets: Tickets;
  readonly idempotency: Idempotency;
  readonly webhooks: Webhooks;
}

export interface Store extends StorePorts {
  /**
   * Commits everything done through `tx` when `work` returns, or nothing if it throws. `work` may run again, for
   * example after a deadlock, so its effects outside `tx` must be repeatable. In `work`, use only `tx`. A nested
   * `transaction` joins the running one.
   *
   * Once a call on `tx` has thrown, nothing is committed, even if `work` catches the error. Further calls throw
   * ABORTED, and so do calls after the end. The end waits for calls that are still running.
   */
  transaction<T>(work: (tx: Store) => Promise<T>): Promise<T>;
  /** Returns true if the database refused a write in the last ten seconds because its disk is full. Default: false. */
  isRefusingWrites?(): boolean;
}

export interface ClosableStore extends Store {
  close(): Promise<void>;
}
