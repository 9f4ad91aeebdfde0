/**
 * `@turnstream/server/internal` exports what other packages of ours need besides the public API: interfaces of the store,
 * the log and the signals, and functions for the CLI, chaos runs, benchmarks and tests.
 * Invariant: it promises nothing. Packages that import it depend on the exact version of the server.
 */
export { isEngineError } from "./engine/errors.ts";
export { Lease, type LeaseEnv, type LeaseOptions } from "./engine/lease.ts";
export { TOKEN_SCOPES } from "./gateway/auth/tokens.ts";
export type { ImportOutcome } from "./knowledge/import.ts";
export { LogEntry, MAX_EVENT_BYTES } from "./log/entry.ts";
export { isLogError } from "./log/errors.ts";
export type { AppendResult, AttachOptions, Log, LogDelivery } from "./log/log.ts";
export { isRedisUrl } from "./log/redis/connection/address.ts";
export { type BlobSink, type LogBlob, splitOversized } from "./log/writer/oversize.ts";
export { Writer, type WriterOptions } from "./log/writer/writer.ts";
export { readPriorTurns } from "./runtime/prompt/prior-turns.ts";
export { createWorker } from "./runtime/worker/worker.ts";
export {
  type ArchiveOptions,
  archiveSession,
  type ArchiveSessionResult,
  trimLog,
} from "./session/archive/archive.ts";
export { archiveLeftovers, LogRetention, type LogRetentionOptions } from "./session/archive/log-retention.ts";
export {
  publishCommitted,
  type PublishResult,
  type RelayOptions,
  relayOutbox,
  type RelayResult,
} from "./session/archive/relay-outbox.ts";
export type { CommandBackend } from "./session/backend.ts";
export { blobUrlExpiry } from "./session/blobs/blob-url.ts";
export { readTurnResult } from "./session/history/turn-result.ts";
export {
  type Claimed,
  claimIdleSession,
  type ClaimRequest,
  claimSession,
} from "./session/lifecycle/claim.ts";
export { ensureSessionLog, reopenIdleLog } from "./session/lifecycle/create.ts";
export { eraseExpired, finishErasures } from "./session/lifecycle/erase.ts";
export { setLimits } from "./session/limits.ts";
export type { PaymentBackend } from "./session/payments/apply-payment.ts";
export { cancelPayment } from "./session/payments/cancel-payment.ts";
export { checkDuePayments } from "./session/payments/check-payments.ts";
export { openCheckout } from "./session/payments/checkout.ts";
export { applyReport } from "./session/payments/query-payment.ts";
export { resolveFlag } from "./session/payments/read-payments.ts";
export {
  decodeSessionRef,
  encodeSessionRef,
  STOPS_CHANNEL,
  TURNS_CHANNEL,
} from "./session/signal-channels.ts";
export type { Signals } from "./signals/signals.ts";
export * from "./store/audit-options.ts";
export * from "./store/audited-store.ts";
export * from "./store/errors.ts";
export { connectDevDatabase } from "./store/pglite/open-data-folder.ts";
export * from "./store/ports/access.ts";
export * from "./store/ports/agents.ts";
export * from "./store/ports/archive.ts";
export * from "./store/ports/audit.ts";
export * from "./store/ports/files.ts";
export * from "./store/ports/interactions.ts";
export * from "./store/ports/knowledge.ts";
export * from "./store/ports/limits.ts";
export * from "./store/ports/objects.ts";
export * from "./store/ports/payments.ts";
export * from "./store/ports/running.ts";
export * from "./store/ports/sessions.ts";
export * from "./store/ports/turn-queue.ts";
export * from "./store/ports/usage.ts";
export * from "./store/ports/webhooks.ts";
export { migrate } from "./store/postgres/migrate.ts";
export { baseline } from "./store/postgres/migrations/0001-baseline.ts";
export * from "./store/rules/api-key.ts";
export * from "./store/rules/archive.ts";
export * from "./store/rules/archived-turn.ts";
export * from "./store/rules/arguments.ts";
export * from "./store/rules/audit-actions.ts";
export { parseCheckpoints, signCheckpoint } from "./store/rules/audit-checkpoint.ts";
export * from "./store/rules/audit-start.ts";
export * from "./store/rules/audit.ts";
export { type BlobGrant, readBlobToken, signBlob } from "./store/rules/blob-token.ts";
export * from "./store/rules/fold-version.ts";
export * from "./store/rules/idempotency.ts";
export * from "./store/rules/interactions.ts";
export * from "./store/rules/ledger-arguments.ts";
export * from "./store/rules/limits.ts";
export * from "./store/rules/page-token.ts";
export * from "./store/rules/running.ts";
export * from "./store/rules/share-token.ts";
export * from "./store/rules/turn-queue.ts";
export {
  AuditChecker,
  type AuditFault,
  type AuditVerdict,
  type VerifyOptions,
} from "./store/rules/verify-audit.ts";
export * from "./store/store.ts";
export * from "./store/transaction-calls.ts";
export * from "./store/upgrade-turns.ts";
export * from "./store/wrap-ports.ts";
export { type Env, systemEnv } from "./util/env.ts";
export type { ErrorContext } from "./util/error-handler.ts";
export { type Actor, sessionKey, type SessionRef } from "./util/refs.ts";
