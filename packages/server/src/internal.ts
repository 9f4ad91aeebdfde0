/**
 * `@turnstream/server/internal` exports the functions that this repository's chaos runs, benchmarks and tests need
 * besides the public API.
 * Invariant: only code of this repository imports it. The entry resolves only under the condition
 * `@turnstream/source`, which apps don't set, so these names can change at any time.
 */
export { createExecutor, type Executor, type ExecutorEnv, type ExecutorOptions } from "./engine/executor.ts";
export { LogEntry, MAX_EVENT_BYTES } from "./log/entry.ts";
export { type BlobSink, type LogBlob, splitOversized } from "./log/writer/oversize.ts";
export { Writer, type WriterOptions } from "./log/writer/writer.ts";
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
export { blobUrlExpiry } from "./session/blobs/blob-url.ts";
export { readPriorTurns } from "./runtime/prompt/prior-turns.ts";
export { readTurnResult } from "./session/history/turn-result.ts";
export {
  type Claimed,
  claimIdleSession,
  type ClaimRequest,
  claimSession,
} from "./session/lifecycle/claim.ts";
export { ensureSessionLog, reopenIdleLog } from "./session/lifecycle/create.ts";
export { eraseExpired, finishErasures } from "./session/lifecycle/erase.ts";
export type { PaymentBackend } from "./session/payments/apply-payment.ts";
export { cancelPayment } from "./session/payments/cancel-payment.ts";
export { checkDuePayments } from "./session/payments/check-payments.ts";
export { openCheckout } from "./session/payments/checkout.ts";
export { applyReport } from "./session/payments/query-payment.ts";
export {
  decodeSessionRef,
  encodeSessionRef,
  STOPS_CHANNEL,
  TURNS_CHANNEL,
} from "./session/signal-channels.ts";
export { changedTurns } from "./store/rules/archived-turn.ts";
export { type BlobGrant, readBlobToken, signBlob } from "./store/rules/blob-token.ts";
export { connectDevDatabase } from "./store/pglite/open-data-folder.ts";
export { migrate } from "./store/postgres/migrate.ts";
export { baseline } from "./store/postgres/migrations/0001-baseline.ts";
