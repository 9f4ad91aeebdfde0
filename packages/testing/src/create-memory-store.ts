/**
 * `createMemoryStore` creates a store in the memory of one process, for tests: what turns need, with an injected clock.
 * Its data ends with the process.
 *
 * Invariant: it follows the same rules as the store on PostgreSQL, which its contract suites check. Every method checks its
 * arguments first and returns a copy, so a caller can't change stored rows.
 */
import {
  type AuditOptions,
  checkArguments,
  type ClosableStore,
  createAuditedStore,
  type Env,
  resolveAuditOptions,
  type ResolvedAuditOptions,
  type StoreParts,
  systemEnv,
  trackTransaction,
  wrapParts,
} from "@turnstream/server/internal";
import { memoryAllowances, memoryFormDrafts, memoryInteractions } from "./interactions.ts";
import { memoryArchive, memoryOutbox, memoryTurns } from "./archive.ts";
import { memoryAttachments, memoryBlobs, memoryObjects, memoryUploads } from "./files.ts";
import { emptyFeatures, emptyMemories, emptyWebhooks, refuseParts } from "./empty-chapters.ts";
import { memoryAudit } from "./audit.ts";
import { memoryIdempotency, memoryKeys, memoryShares, memoryTickets } from "./access.ts";
import { memoryEpochs, memoryUserNumbers, memorySessions } from "./sessions.ts";
import { memoryTurnQueue } from "./turn-queue.ts";
import { memoryJournal, memoryLeases } from "./journal.ts";
import { memoryRunning, memoryWaiting } from "./running.ts";
import { memoryLimits } from "./limits.ts";
import { createMemoryTables, type MemoryTables } from "./tables.ts";
import { memoryAgents, memoryTenants } from "./tenants.ts";
import { memoryUsage } from "./usage.ts";

export function createMemoryStore(env: Env = systemEnv, options: AuditOptions = {}): ClosableStore {
  const tables = createMemoryTables();
  const audit = resolveAuditOptions(options);
  const store = createAuditedStore({
    ...partsOn(tables, env, audit),
    transaction: (work) => tables.transaction((inner) => trackTransaction(partsOn(inner, env, audit), work)),
  });
  return { ...store, close: async () => {} };
}

function partsOn(tables: MemoryTables, env: Env, audit: ResolvedAuditOptions): StoreParts {
  const parts: StoreParts = {
    tenants: memoryTenants(tables, env),
    sessions: memorySessions(tables, env),
    epochs: memoryEpochs(tables, env),
    turns: memoryTurns(tables, memoryArchive(tables, env)),
    queuedMessages: memoryWaiting(tables, env),
    running: memoryRunning(tables, env),
    queue: memoryTurnQueue(tables, env),
    journal: memoryJournal(tables),
    archive: memoryArchive(tables, env),
    outbox: memoryOutbox(tables, env),
    blobs: memoryBlobs(tables),
    attachments: memoryAttachments(tables, env),
    uploads: memoryUploads(tables, env),
    objects: memoryObjects(),
    leases: memoryLeases(tables, env),
    shares: memoryShares(tables, env),
    keys: memoryKeys(tables, env),
    userNumbers: memoryUserNumbers(tables),
    allowances: memoryAllowances(tables, env),
    interactions: memoryInteractions(tables, env),
    formDrafts: memoryFormDrafts(tables, env),
    usage: memoryUsage(tables, env),
    limits: memoryLimits(tables, env),
    audit: memoryAudit(tables, env, audit),
    agents: memoryAgents(tables),
    memories: emptyMemories,
    tickets: memoryTickets(tables),
    idempotency: memoryIdempotency(tables, env),
    webhooks: emptyWebhooks,
    features: emptyFeatures,
    use: refuseParts,
  };
  return wrapParts(parts, async (name, args, call) => {
    checkArguments(name, args);
    // Some parts of the store return stored rows. The clone prevents a caller from changing the store through them.
    return structuredClone(await call());
  });
}
