/** `@turnstream/server`: the durable log of each session and the system of record. Runs on Node. */
export { LogEntry, MAX_EVENT_BYTES } from "./log/entry.ts";
export { isLogError, LogError, type LogErrorCode } from "./log/errors.ts";
export type {
  Appended,
  AttachOptions,
  BadCursor,
  BadCursorReason,
  Batch,
  Claim,
  Delivery,
  EndReason,
  Log,
  LogHead,
  Page,
  ReadAnswer,
  ReadRange,
} from "./log/log.ts";
export { createMemoryLog } from "./log/memory.ts";
export { createRedisLog, type RedisLogOptions } from "./log/redis.ts";
export { type Blob, type BlobSink, fit } from "./log/oversize.ts";
export { Writer, type WriterOptions } from "./log/writer.ts";
export { type Archived, type ArchiveOptions, archiveSession, trimSession } from "./session/archive.ts";
export { claimIdle, type Claimed, type ClaimRequest, claimSession } from "./session/claim.ts";
export { eraseExpired, eraseSession, eraseUser, finishErasures } from "./session/erase.ts";
export { type History, type HistoryOptions, readHistory, readOlderTurns } from "./session/history.ts";
export type { Parts } from "./session/parts.ts";
export { deliverCommitted, type RelayOptions, relayOutbox } from "./session/relay.ts";
export { isStoreError, StoreError, type StoreErrorCode } from "./store/errors.ts";
export { memoryStore } from "./store/memory/store.ts";
export { migrate } from "./store/postgres/migrate.ts";
export { openDatabase, type PostgresOptions } from "./store/postgres/open.ts";
export { postgresStore } from "./store/postgres/store.ts";
export type { Actor, Ref } from "./store/refs.ts";
export type { OpenStore, Store, StorePorts } from "./store/store.ts";
export { forkShare } from "./store/fork-share.ts";
export { verifyTenantAudit } from "./store/verify-audit.ts";
