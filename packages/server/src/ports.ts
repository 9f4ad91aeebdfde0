/**
 * `@turnstream/server/ports` exports the interfaces of store, log and signals, with their rows and errors, for
 * code that implements or wraps one of them.
 * Invariant: every name here is public: a new required member of an interface breaks custom implementations.
 */
// oxlint-disable-next-line import/no-unassigned-import -- it must run before all other imports
import "./util/require-node.ts";
export { ENGINE_ERRORS, type EngineErrorCode, isEngineError } from "./engine/errors.ts";
export { TOKEN_SCOPES, type TokenClaims, type TokenOptions } from "./gateway/auth/tokens.ts";
export type { HandleContext } from "./gateway/http/fetch-handler.ts";
export type { TrustProxy } from "./gateway/options.ts";
export type { Imported, ImportOptions, ImportOutcome } from "./knowledge/import.ts";
export { isLogError, type LogErrorCode } from "./log/errors.ts";
export type {
  AppendBatch,
  AppendResult,
  AttachOptions,
  Claim,
  FollowEndReason,
  InvalidCursor,
  InvalidCursorReason,
  Log,
  LogDelivery,
  LogHead,
  LogPage,
  ReadRange,
  ReadResult,
} from "./log/log.ts";
export type { ModelErrorReason } from "./models/errors.ts";
export type { ModelSettings } from "./models/model.ts";
export { ToolSchemaError } from "./models/tool-schema.ts";
export type { FetchWebContentOptions } from "./runtime/built-in/fetch-web-content.ts";
export type { HttpRequestOptions } from "./runtime/built-in/http-request.ts";
export type { HttpMethod } from "./runtime/built-in/http-rules.ts";
export type { KnowledgeOptions, KnowledgeQuery } from "./runtime/built-in/knowledge.ts";
export type { MemoryOptions } from "./runtime/built-in/memory.ts";
export type { WebPage, WebQuery } from "./runtime/built-in/search-web.ts";
export type {
  Compaction,
  DisplayMode,
  InstructionsContext,
  RecallLimits,
  SubAgentTool,
} from "./runtime/define/agent.ts";
export type { ApprovalContext } from "./runtime/define/approval.ts";
export type { Pricing } from "./runtime/define/limits.ts";
export type { AiSdkPart, AiSdkResult, StreamBody } from "./runtime/define/stream-body.ts";
export type { SourceTool, ToolSourceConnection, ToolSourceContext } from "./runtime/define/tool-source.ts";
export type { RequestFormOptions, ToolDisplay, ToolErrorOptions } from "./runtime/define/tool.ts";
export type { FileErrorCode, RuntimeErrorCode } from "./runtime/errors.ts";
export type { TurnOptions } from "./runtime/turn/turn-options.ts";
export { FETCH_ERRORS, type FetchErrorCode, isFetchError } from "./safe-fetch/errors.ts";
export type { Lookup } from "./safe-fetch/policy.ts";
export { safeFetch, type SafeFetchOptions, type SafeResponse } from "./safe-fetch/safe-fetch.ts";
export type { CommandBackend } from "./session/backend.ts";
export { type BlobUrlOptions, createBlobUrls } from "./session/blobs/blob-url.ts";
export { BLOB_ERRORS, type BlobErrorCode, openBlob, type ServedBlob } from "./session/blobs/open-blob.ts";
export {
  DEFAULT_UPLOAD_LIMITS,
  readUpload,
  uploadIdOf,
  type UploadLimits,
  type UploadOptions,
  type UploadResult,
} from "./session/blobs/upload.ts";
export type { ReadHistoryOptions } from "./session/history/read-history.ts";
export type { SharedHistory } from "./session/history/shared-history.ts";
export type { RevokeAllowanceInput } from "./session/interactions/allowances.ts";
export type { AnswerQuestionInput, DismissQuestionInput } from "./session/interactions/answer-question.ts";
export {
  type DeclineFormInput,
  FormClosedError,
  type SubmitFormInput,
} from "./session/interactions/submit-form.ts";
export { canRetry, type RetryReceipt } from "./session/messages/retry-turn.ts";
export type { StopTurnOptions } from "./session/messages/stop-turn.ts";
export { resolveFlag } from "./session/payments/read-payments.ts";
export type { WebhookOptions } from "./session/webhooks/webhook-options.ts";
export type { RedisSignalsOptions } from "./signals/redis.ts";
export type { Signals } from "./signals/signals.ts";
export { isStoreError, STORE_ERRORS, type StoreErrorCode } from "./store/errors.ts";
export type { KeyInfo, Keys, NewKey, Share, Shares, VerifiedKey } from "./store/ports/access.ts";
export type {
  Archive,
  ArchiveBatch,
  ArchivedHeader,
  ArchivedTurn,
  ArchivedWindow,
  ArchiveResult,
  NewOutboxRow,
  Outbox,
  OutboxRow,
  SessionHeader,
  TakeQuery,
  TurnRecord,
  Turns,
} from "./store/ports/archive.ts";
export type {
  Audit,
  AuditEntry,
  AuditHead,
  AuditMaintenance,
  AuditRow,
  AuditStart,
} from "./store/ports/audit.ts";
export { type AgentInput, type Agents, MAX_AGENTS, type RegisteredAgent } from "./store/ports/agents.ts";
export {
  type Attachment,
  type Attachments,
  type Blobs,
  type FoundBlob,
  MAX_BLOB_BYTES,
  type NewAttachment,
  type NewUpload,
  type StagedCopy,
  type StartedUpload,
  type TextChunk,
  type Upload,
  type Uploads,
} from "./store/ports/files.ts";
export type {
  ByteRange,
  DownloadHeaders,
  ObjectInfo,
  ObjectStorage,
  SignedUpload,
  StoredObjects,
  UploadContent,
} from "./store/ports/objects.ts";
export type {
  Allowance,
  Allowances,
  FormDraft,
  FormDrafts,
  Interaction,
  InteractionChange,
  InteractionPage,
  InteractionRequest,
  Interactions,
  NewAllowance,
  TransitionRequest,
  TransitionResult,
} from "./store/ports/interactions.ts";
export {
  DEATHS_BEFORE_ALONE,
  type DeadTurn,
  type EndReceipt,
  type HeldTurn,
  MAX_DEATHS,
  type StartedTurn,
  type StartTurns,
  type TurnQueue,
  type TurnRetry,
} from "./store/ports/turn-queue.ts";
export {
  type Knowledge,
  type KnowledgeHit,
  type KnowledgeLines,
  type KnowledgeObject,
  MAX_MEMORIES,
  MAX_MEMORY_CHARS,
  type Memories,
  type Memory,
  type MemoryChange,
  type NewKnowledgeObject,
  type NewMemory,
} from "./store/ports/knowledge.ts";
export type {
  ApplyResult,
  NewPayment,
  Payment,
  PaymentChange,
  PaymentPage,
  Payments,
} from "./store/ports/payments.ts";
export type {
  Journal,
  JournalEntry,
  Leases,
  NewJournalEntry,
  NewMessage,
  QueuedMessages,
  RunningTurn,
  RunningTurns,
  StopReceipt,
  TurnCaller,
} from "./store/ports/running.ts";
export type {
  EpochClaim,
  Epochs,
  Erasure,
  NewSession,
  Session,
  SessionWithEpoch,
  SessionPage,
  Sessions,
  Tenant,
  Tenants,
  UserNumbers,
} from "./store/ports/sessions.ts";
export {
  type ClaimedDelivery,
  type DeliveryPage,
  type DeliveryResult,
  type DeliveryState,
  type NewWebhookEndpoint,
  type TakeDeliveriesQuery,
  WEBHOOK_EVENTS,
  type WebhookDelivery,
  type WebhookEndpoint,
  type WebhookEvent,
  type WebhookEventType,
  type Webhooks,
} from "./store/ports/webhooks.ts";
export type { UsageAdd, UsageDay, UsageLedger } from "./store/ports/usage.ts";
export {
  type ByUseScope,
  defaultLimit,
  type ExceededLimit,
  fromWireName,
  type LimitName,
  limitNames,
  LIMITS,
  type LimitScope,
  type LimitTarget,
  type LimitValues,
  toWireName,
  type TurnLimits,
  type UsageLimits,
  type UseOwner,
  type UseScope,
} from "./store/rules/limits.ts";
export { type LimitChange, setLimits } from "./session/limits.ts";
export {
  type CallerLimits,
  LIMIT_SOURCES,
  type LimitSource,
  type StoredLimit,
} from "./store/ports/limits.ts";
export type { PostgresStoreOptions } from "./store/postgres/store.ts";
export type { Actor } from "./util/refs.ts";
export {
  AuditChecker,
  type AuditFault,
  type AuditFaultKind,
  type AuditVerdict,
  verifyAudit,
  type VerifyOptions,
} from "./store/rules/verify-audit.ts";
export type { AuditOptions } from "./store/audit-options.ts";
export { AUDIT_ACTIONS, type AuditAction } from "./store/rules/audit-actions.ts";
export { type AuditCheckpoint, parseCheckpoints, signCheckpoint } from "./store/rules/audit-checkpoint.ts";
export { type AuditKey, EMPTY_AUDIT_HEAD, parseAuditKeys, toAuditId } from "./store/rules/audit.ts";
export type { ClosableStore, Store, StorePorts } from "./store/store.ts";
export { type Env, systemEnv } from "./util/env.ts";
export type { ErrorContext, ErrorHandler } from "./util/error-handler.ts";
export {
  hashAddress,
  SECURITY_EVENTS,
  type SecurityEvent,
  type SecurityEventHandler,
  type SecurityEventType,
} from "./util/security-event.ts";
export { isRedisUrl } from "./log/redis/connection/address.ts";
export { createWorker, type Worker } from "./runtime/worker/worker.ts";
export { BlobError } from "./session/blobs/open-blob.ts";
export type { TurnActivity, TurnObserver } from "./runtime/define/turn-observer.ts";
export type { UserOf } from "./gateway/auth/sign-in.ts";
export type { TurnErrorCode } from "./session/history/turn-error.ts";
export type { SessionCommands, SessionMessage, WaitOptions } from "./turnstream/session-commands.ts";
export type { TurnStream } from "./turnstream/turn-stream.ts";
export type { Parts } from "./turnstream/parts.ts";
export type { ServerSettings } from "./operator/settings.ts";
