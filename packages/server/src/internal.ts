/**
 * `@turnstream/server/internal` exports what other packages of ours need besides the public API: interfaces of the
 * store, the log and the signals, and functions for the CLI, chaos runs, benchmarks and tests. Invariant: it promises
 * nothing. Packages that import it depend on the exact version of the server.
 */
export { isEngineError } from "./engine/errors.ts";
export { TOKEN_SCOPES } from "./gateway/auth/tokens.ts";
export type { CommandContext } from "./gateway/command.ts";
export type { GatewayContext, RouteResult } from "./gateway/context.ts";
export { RequestError } from "./gateway/errors.ts";
export { executeCommand, requireApplied } from "./gateway/execute-command.ts";
export { readBytes } from "./gateway/http/read-body.ts";
export { defineRoute, type Route, type RouteContext } from "./gateway/http/route.ts";
export { pageBefore, pageLimit } from "./gateway/http/routes/page-query.ts";
export { LogEntry } from "./log/entry.ts";
export { isLogError } from "./log/errors.ts";
export type { AppendResult, AttachOptions, Log, LogDelivery } from "./log/log.ts";
export { addressOf, formatAddress, isRedisUrl } from "./log/redis/connection/address.ts";
export { createConnectionClient, type RedisClient } from "./log/redis/connection/client.ts";
export { type Durability, readDurability } from "./log/redis/connection/durability.ts";
export { withTimeout } from "./log/redis/connection/with-timeout.ts";
export { Writer } from "./log/writer/writer.ts";
export type { JsonSchema, PromptMessage } from "./models/model.ts";
export type { EndingRequest, JournalKey } from "./runtime/attempt/journal-entries.ts";
export type { RequestHost, RequestKind } from "./runtime/attempt/request-kind.ts";
export type { RunContext } from "./runtime/attempt/run-context.ts";
export { toCitations } from "./runtime/built-in/citations.ts";
export type { EnabledTools } from "./runtime/built-in/tools.ts";
export { EXTRACT_MEMORY_MB } from "./runtime/define/file-limits.ts";
export { isTooLarge } from "./runtime/define/form.ts";
export type { StreamBodyEvent } from "./runtime/define/stream-body.ts";
export type { TaskContext } from "./runtime/feature.ts";
export { InteractionRequested } from "./runtime/interactions/ending-request.ts";
export { awaitFormInTool } from "./runtime/interactions/form-in-tool.ts";
export { SUMMARY_INTRO } from "./runtime/prompt/compact.ts";
export { readPriorTurns } from "./runtime/prompt/prior-turns.ts";
export { hostOf } from "./runtime/tool-calls/tool-host.ts";
export { createWorker } from "./runtime/worker/worker.ts";
export { isFetchError } from "./safe-fetch/errors.ts";
export { safeFetch, type SafeResponse } from "./safe-fetch/safe-fetch.ts";
export { archiveSession } from "./session/archive/archive.ts";
export { LogRetention } from "./session/archive/log-retention.ts";
export {
  MESSAGE_RELAY_MS,
  publishCommitted,
  publishOutbox,
  relayOutbox,
} from "./session/archive/relay-outbox.ts";
export type { Backend, CommandBackend } from "./session/backend.ts";
export { waitForInteraction } from "./session/interactions/find.ts";
export { isLastTurn } from "./session/interactions/expire-forms.ts";
export { type DecisionSource, updateEvent } from "./session/interactions/transition.ts";
export { type Claimed, claimIdleSession, claimSession } from "./session/lifecycle/claim.ts";
export { finishErasures } from "./session/lifecycle/erase.ts";
export { setLimits } from "./session/limits.ts";
export { messageEvent, messageKey } from "./session/message-event.ts";
export { hintTurn } from "./session/signal-channels.ts";
export { enqueueInteractionEvent } from "./session/webhooks/enqueue-events.ts";
export type { Signals } from "./signals/signals.ts";
export * from "./store/agents.ts";
export * from "./store/allowances.ts";
export * from "./store/archive.ts";
export * from "./store/attachments.ts";
export * from "./store/audit.ts";
export * from "./store/audited-store.ts";
export * from "./store/blobs.ts";
export * from "./store/caller-limits.ts";
export type { Db } from "./store/database/database.ts";
export { toStoreError } from "./store/database/errors.ts";
export { migrate, type MigrationStatus, readMigrations } from "./store/database/migrate.ts";
export { baseline } from "./store/database/migrations/0001-baseline.ts";
export type {
  JsonColumn,
  NullableTime,
  QueuedMessageBody,
  SessionHeader,
  Time,
} from "./store/database/schema.ts";
export {
  ago,
  clock,
  clockPlus,
  inTransaction,
  lockSessionRow,
  ofSession,
  rowOf,
} from "./store/database/session-row.ts";
export * from "./store/erasures.ts";
export * from "./store/errors.ts";
export * from "./store/features.ts";
export * from "./store/form-drafts.ts";
export * from "./store/idempotency.ts";
export * from "./store/interactions.ts";
export * from "./store/journal.ts";
export * from "./store/keys.ts";
export * from "./store/leases.ts";
export * from "./store/memories.ts";
export * from "./store/objects.ts";
export * from "./store/outbox.ts";
export { connectDevDatabase } from "./store/pglite/open-data-folder.ts";
export * from "./store/queued-messages.ts";
export * from "./store/rules/api-key.ts";
export * from "./store/rules/arguments.ts";
export * from "./store/rules/audit-actions.ts";
export * from "./store/rules/audit-start.ts";
export { canonicalJson } from "./store/rules/canonical-json.ts";
export * from "./store/rules/interactions.ts";
export * from "./store/rules/limits.ts";
export * from "./store/rules/page-token.ts";
export {
  COMMON,
  queryTerms,
  scoreOf,
  selectiveTerms,
  type Term,
  tokenize,
  type WeightedTerm,
  weightTerms,
} from "./store/rules/search.ts";
export * from "./store/running-turn.ts";
export * from "./store/running-turns.ts";
export * from "./store/sessions.ts";
export * from "./store/shares.ts";
export * from "./store/store.ts";
export * from "./store/tenants.ts";
export * from "./store/tickets.ts";
export * from "./store/transaction-calls.ts";
export * from "./store/turn-queue.ts";
export * from "./store/turns.ts";
export * from "./store/upgrade-turns.ts";
export * from "./store/uploads.ts";
export * from "./store/usage.ts";
export * from "./store/webhooks.ts";
export * from "./store/wrap-parts.ts";
export { extract, ExtractError } from "./text-extraction/extract.ts";
export { importFilesPackage } from "./text-extraction/import-files-package.ts";
export {
  DEFAULT_TENANT,
  explainServerError,
  readAuditKeys,
  readAuditOptions,
  requireDatabaseUrl,
  requireRedisUrl,
  requireSecret,
  resolveSettings,
  type Settings,
} from "./turnstream/settings.ts";
export { isBase64 } from "./util/base64.ts";
export { abortable } from "./util/concurrency.ts";
export { defined } from "./util/defined.ts";
export { type Env, systemEnv } from "./util/env.ts";
export type { ErrorContext, ErrorHandler } from "./util/error-handler.ts";
export { defineErrors } from "./util/errors.ts";
export { findJsonExcess, type JsonExcess, MAX_NUMBER_CHARS } from "./util/json-bounds.ts";
export { withoutPatterns } from "./util/json-schema.ts";
export { asJsonObject, isJsonLongerThan, stringField } from "./util/json.ts";
export { integer, type OptionsInput, type OptionsOutput, parseOptions, show } from "./util/parse-options.ts";
export { type Actor, sessionKey, type SessionRef } from "./util/refs.ts";
export { isSupportedNode, MIN_NODE } from "./util/require-node.ts";
export { backoffDelay } from "./util/retry.ts";
export { MAX_TIMER_MS, sleep, yieldToEventLoop } from "./util/sleep.ts";
export { runWithTimeLimit } from "./util/time-limit.ts";
export { createTimeSlicer } from "./util/time-slicer.ts";
