/**
 * `Store` is the system of record: one object of small parts, each with its guarantees in a file of its own.
 * Types only.
 *
 * Invariant: every method can take part in a transaction. The store does not know the log. The one in memory of
 * `@turnstream/testing` passes the same contracts, for the parts that turns need.
 */
import type { Allowances } from "./allowances.ts";
import type { Features, UsePart } from "./features.ts";
import type { FormDrafts } from "./form-drafts.ts";
import type { Interactions } from "./interactions.ts";
import type { Agents } from "./agents.ts";
import type { Archive } from "./archive.ts";
import type { Outbox } from "./outbox.ts";
import type { Turns } from "./turns.ts";
import type { Attachments } from "./attachments.ts";
import type { Blobs } from "./blobs.ts";
import type { Uploads } from "./uploads.ts";
import type { Audit } from "./audit.ts";
import type { Epochs, UserNumbers, Sessions } from "./sessions.ts";
import type { Tenants } from "./tenants.ts";
import type { Idempotency } from "./idempotency.ts";
import type { Keys } from "./keys.ts";
import type { Shares } from "./shares.ts";
import type { Tickets } from "./tickets.ts";
import type { Journal } from "./journal.ts";
import type { Leases } from "./leases.ts";
import type { RunningTurns } from "./running-turns.ts";
import type { QueuedMessages } from "./queued-messages.ts";
import type { TurnQueue } from "./turn-queue.ts";
import type { Memories } from "./memories.ts";
import type { CallerLimits } from "./caller-limits.ts";
import type { StoredObjects } from "./objects.ts";
import type { UsageLedger } from "./usage.ts";
import type { Webhooks } from "./webhooks.ts";

/** All parts of the store. Each can take part in a transaction. */
export interface StoreParts {
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
  readonly usage: UsageLedger;
  readonly limits: CallerLimits;
  readonly audit: Audit;
  readonly agents: Agents;
  readonly memories: Memories;
  readonly tickets: Tickets;
  readonly idempotency: Idempotency;
  readonly webhooks: Webhooks;
  readonly features: Features;
  /** Returns the part of a feature, on the same connection as the other parts. */
  readonly use: UsePart;
}

export interface Store extends StoreParts {
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
