/**
 * `createPostgresStore` creates the store: every part of it on the pool, and again on each transaction. Does not
 * migrate; see `database/migrate.ts`.
 *
 * Invariant: every method checks its arguments first and throws only StoreErrors. After a deadlock the whole call or
 * the whole transaction runs again, never a single call inside a transaction. An error of `work` is rethrown unchanged.
 */
import { systemEnv } from "../util/env.ts";
import { postgresAgents } from "./agents.ts";
import { postgresAllowances } from "./allowances.ts";
import { postgresArchive } from "./archive-sql.ts";
import { postgresAttachments } from "./attachments.ts";
import { postgresAudit } from "./audit-sql.ts";
import { type AuditOptions, resolveAuditOptions, type ResolvedAuditOptions } from "./audit.ts";
import { createAuditedStore } from "./audited-store.ts";
import { postgresBlobs } from "./blobs.ts";
import { postgresLimits } from "./caller-limits.ts";
import type { Db } from "./database/database.ts";
import { retryOnDeadlock, toStoreError, isDiskFull } from "./database/errors.ts";
import { postgresFeatures } from "./features.ts";
import { postgresFormDrafts } from "./form-drafts.ts";
import { postgresIdempotency } from "./idempotency.ts";
import { postgresInteractions } from "./interactions.ts";
import { postgresJournal } from "./journal.ts";
import { postgresKeys } from "./keys.ts";
import { LeaseLock, postgresLeases } from "./leases.ts";
import { postgresMemories } from "./memories.ts";
import { type ObjectStorage, type ObjectContext, postgresObjects } from "./objects.ts";
import { postgresOutbox } from "./outbox.ts";
import { postgresWaiting } from "./queued-messages.ts";
import { checkArguments } from "./rules/arguments.ts";
import { postgresRunning } from "./running-turns.ts";
import { postgresSessions, postgresEpochs, postgresUserNumbers } from "./sessions.ts";
import { postgresShares } from "./shares.ts";
import type { ClosableStore, StoreParts, Store } from "./store.ts";
import { postgresTenants } from "./tenants.ts";
import { postgresTickets } from "./tickets.ts";
import { trackTransaction } from "./transaction-calls.ts";
import { postgresTurnQueue } from "./turn-queue.ts";
import { postgresTurns } from "./turns.ts";
import { postgresUploads } from "./uploads.ts";
import { postgresUsage } from "./usage.ts";
import { postgresWebhooks } from "./webhooks-sql.ts";
import { wrapParts } from "./wrap-parts.ts";

export interface PostgresStoreOptions extends AuditOptions {
  /**
   * A separate pool for leases; two connections are enough. Recommended for workers: a renewal that queues behind the
   * work of hundreds of turns comes too late. Other workers then take over the turns of a live worker.
   * @default the pool of the store
   */
  readonly leases?: Db;
  /**
   * Whether a worker holds an advisory lock on a connection of its own, so that others notice its death at once. Without
   * it, they notice when its lease expires.
   * @default true
   */
  readonly holdsLock?: boolean;
  /**
   * Keeps the bytes of new blobs and uploads, such as `createS3Storage` of `@turnstream/s3`. All processes need
   * the same one.
   * @default none: PostgreSQL keeps them
   */
  readonly storage?: ObjectStorage;
}

/** Closing the store closes the given pools. */
export function createPostgresStore(db: Db, options: PostgresStoreOptions = {}): ClosableStore {
  const { leases = db, storage = null, holdsLock = true } = options;
  const audit = resolveAuditOptions(options);
  const refusals = { last: -Infinity };
  const shared = {
    lock: new LeaseLock(leases, holdsLock),
    objects: { env: systemEnv, storage },
    refusals,
  };
  const createParts = (on: Db) => partsOn(on, shared, audit);
  const store = createAuditedStore({
    ...createParts(db),
    leases: createParts(leases).leases,
    transaction: (work) => retryOnDeadlock(systemEnv, () => once(db, createParts, work)),
  });
  const close = async (): Promise<void> => {
    shared.lock.release();
    await db.destroy();
    if (leases !== db) await leases.destroy();
  };
  const isRefusingWrites = (): boolean => performance.now() - refusals.last < REFUSAL_MS;
  return { ...store, close, isRefusingWrites };
}

/** How long a refused write counts. Workers write at least this often. */
const REFUSAL_MS = 10_000;

/** What all parts of a store share, also in transactions. */
interface Shared {
  readonly lock: LeaseLock;
  readonly objects: ObjectContext;
  /** When the database last refused a write because its disk was full, by `performance.now()`. */
  readonly refusals: { last: number };
}

/** Wraps the parts so that every method throws only StoreErrors, and outside of transactions runs again after a deadlock. */
function partsOn(db: Db, { lock, objects, refusals }: Shared, audit: ResolvedAuditOptions): StoreParts {
  const { env } = objects;
  const parts: StoreParts = {
    tenants: postgresTenants(db),
    sessions: postgresSessions(db, env),
    epochs: postgresEpochs(db),
    turns: postgresTurns(db),
    queuedMessages: postgresWaiting(db),
    running: postgresRunning(db),
    queue: postgresTurnQueue(db, env),
    journal: postgresJournal(db),
    archive: postgresArchive(db),
    outbox: postgresOutbox(db),
    blobs: postgresBlobs(db, objects),
    attachments: postgresAttachments(db),
    uploads: postgresUploads(db, objects),
    objects: postgresObjects(db, objects),
    leases: postgresLeases(db, lock),
    shares: postgresShares(db, env),
    keys: postgresKeys(db, env),
    userNumbers: postgresUserNumbers(db),
    allowances: postgresAllowances(db),
    interactions: postgresInteractions(db),
    formDrafts: postgresFormDrafts(db),
    usage: postgresUsage(db),
    limits: postgresLimits(db),
    audit: postgresAudit(db, audit),
    agents: postgresAgents(db),
    memories: postgresMemories(db),
    tickets: postgresTickets(db),
    idempotency: postgresIdempotency(db, env),
    webhooks: postgresWebhooks(db, env),
    features: postgresFeatures(db),
    use: (part) => part.create(db),
  };
  return wrapParts(parts, async (name, args, call) => {
    try {
      checkArguments(name, args);
      // The body of an object can be read only once.
      const isFinal = db.isTransaction || name === "objects.write";
      return await (isFinal ? call() : retryOnDeadlock(systemEnv, call));
    } catch (error) {
      const failure = toStoreError(error, name);
      if (isDiskFull(failure)) refusals.last = performance.now();
      throw failure;
    }
  });
}

async function once<T>(
  db: Db,
  createParts: (tx: Db) => StoreParts,
  work: (tx: Store) => Promise<T>,
): Promise<T> {
  const thrown: unknown[] = [];
  const run = (tx: Db): Promise<T> =>
    trackTransaction(createParts(tx), work).catch((error: unknown) => {
      thrown.push(error);
      throw error;
    });
  try {
    return await db.transaction().execute(run);
  } catch (error) {
    // An error of `work` is rethrown unchanged. Any other error comes from the database, at begin or commit.
    throw thrown.length > 0 ? thrown[0] : toStoreError(error, "transaction");
  }
}
