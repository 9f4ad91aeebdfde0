/**
 * `createPostgresStore` creates the store on PostgreSQL: every sub-port on the pool, and again on each transaction.
 * Does not migrate; see `migrate.ts`.
 *
 * Invariant: every method checks its arguments first and throws only StoreErrors. After a deadlock the whole call or
 * the whole transaction runs again, never a single call inside a transaction. An error of `work` is rethrown unchanged.
 */
import { type AuditOptions, resolveAuditOptions, type ResolvedAuditOptions } from "../audit-options.ts";
import { createAuditedStore } from "../audited-store.ts";
import { checkArguments } from "../rules/arguments.ts";
import { systemEnv } from "../../util/env.ts";
import type { ObjectStorage } from "../ports/objects.ts";
import type { ClosableStore, Store, StorePorts } from "../store.ts";
import { trackTransaction } from "../transaction-calls.ts";
import { wrapPorts } from "../wrap-ports.ts";
import { postgresAgents } from "./agents.ts";
import { postgresAllowances, postgresFormDrafts } from "./allowances.ts";
import { postgresArchive, postgresTurns } from "./archive.ts";
import { postgresBlobs } from "./blobs.ts";
import { postgresAttachments, postgresUploads } from "./files.ts";
import { postgresAudit } from "./audit.ts";
import { postgresIdempotency, postgresKeys, postgresTickets } from "./access.ts";
import { postgresInteractions } from "./interactions.ts";
import { postgresPayments } from "./payments.ts";
import { postgresEpochs, postgresUserNumbers, postgresSessions } from "./sessions.ts";
import { postgresTenants } from "./tenants.ts";
import type { Db } from "./database.ts";
import { isDiskFull, retryOnDeadlock, toStoreError } from "./errors.ts";
import { postgresJournal } from "./journal.ts";
import { LeaseLock } from "./lease-lock.ts";
import { postgresLeases } from "./leases.ts";
import { postgresKnowledge } from "./knowledge.ts";
import { postgresLimits } from "./limits.ts";
import { postgresMemories } from "./memories.ts";
import { type ObjectContext, postgresObjects } from "./objects.ts";
import { postgresOutbox } from "./outbox.ts";
import { postgresTurnQueue } from "./turn-queue.ts";
import { postgresRunning } from "./running.ts";
import { postgresShares } from "./shares.ts";
import { postgresWaiting } from "./waiting.ts";
import { postgresUsage } from "./usage.ts";
import { postgresWebhooks } from "./webhooks.ts";

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
   * Keeps the bytes of new blobs and uploads, such as `createS3Storage` of `@turnstream/server/s3`. All processes need
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
  const createPorts = (on: Db) => portsOn(on, shared, audit);
  const retried = (on: Db) => wrapPorts(createPorts(on), (_, __, call) => retryOnDeadlock(systemEnv, call));
  const store = createAuditedStore({
    ...retried(db),
    leases: retried(leases).leases,
    // Not repeated, because a body can be read only once.
    objects: createPorts(db).objects,
    transaction: (work) => retryOnDeadlock(systemEnv, () => once(db, createPorts, work)),
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

/** What all sub-ports of a store share, also in transactions. */
interface Shared {
  readonly lock: LeaseLock;
  readonly objects: ObjectContext;
  /** When the database last refused a write because its disk was full, by `performance.now()`. */
  readonly refusals: { last: number };
}

/** Wraps the sub-ports so that every method throws only StoreErrors. */
function portsOn(db: Db, { lock, objects, refusals }: Shared, audit: ResolvedAuditOptions): StorePorts {
  const { env } = objects;
  const ports: StorePorts = {
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
    payments: postgresPayments(db),
    usage: postgresUsage(db),
    limits: postgresLimits(db),
    audit: postgresAudit(db, audit),
    agents: postgresAgents(db),
    memories: postgresMemories(db),
    knowledge: postgresKnowledge(db),
    tickets: postgresTickets(db),
    idempotency: postgresIdempotency(db, env),
    webhooks: postgresWebhooks(db, env),
  };
  return wrapPorts(ports, async (name, args, call) => {
    try {
      checkArguments(name, args);
      return await call();
    } catch (error) {
      const failure = toStoreError(error, name);
      if (isDiskFull(failure)) refusals.last = performance.now();
      throw failure;
    }
  });
}

async function once<T>(
  db: Db,
  createPorts: (tx: Db) => StorePorts,
  work: (tx: Store) => Promise<T>,
): Promise<T> {
  let thrown: { error: unknown } | null = null;
  try {
    return await db.transaction().execute(async (tx) => {
      try {
        return await trackTransaction(createPorts(tx), work);
      } catch (error) {
        thrown = { error };
        throw error;
      }
    });
  } catch (error) {
    // An error of `work` is rethrown unchanged. Any other error comes from the database, at begin or commit.
    const own = thrown as { error: unknown } | null;
    throw own === null ? toStoreError(error, "transaction") : own.error;
  }
}
