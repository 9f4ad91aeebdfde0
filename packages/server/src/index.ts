/** `@turnstream/server`: the durable log of each session and the system of record. Runs on Node. */
export { LogEntry, MAX_EVENT_BYTES } from "./log/entry.ts";
export { isLogError, LogError, type LogErrorCode } from "./log/errors.ts";
export type {
  AppendResult,
  AttachOptions,
  InvalidCursor,
  InvalidCursorReason,
  AppendBatch,
  Claim,
  LogDelivery,
  FollowEndReason,
  Log,
  LogHead,
  LogPage,
  ReadResult,
  ReadRange,
} from "./log/log.ts";
export { createMemoryLog } from "./log/memory.ts";
export { createRedisLog, type RedisLogOptions } from "./log/redis/create-redis-log.ts";
export { isRedisUrl } from "./log/redis/connection/address.ts";
export { type LogBlob, type BlobSink, splitOversized } from "./log/writer/oversize.ts";
export { Writer, type WriterOptions } from "./log/writer/writer.ts";
export {
  type ArchiveSessionResult,
  type ArchiveOptions,
  archiveSession,
  trimLog,
} from "./session/archive/archive.ts";
export {
  claimIdleSession,
  type Claimed,
  type ClaimRequest,
  claimSession,
} from "./session/lifecycle/claim.ts";
export { eraseExpired, eraseSession, eraseUser, finishErasures } from "./session/lifecycle/erase.ts";
export {
  type SessionHistory,
  type ReadHistoryOptions,
  readHistory,
  readOlderTurns,
} from "./session/history/read-history.ts";
export type { CommandBackend, Backend } from "./session/backend.ts";
export {
  type PublishResult,
  publishCommitted,
  type RelayResult,
  type RelayOptions,
  relayOutbox,
} from "./session/archive/relay-outbox.ts";
export { type BlobUrlOptions, createBlobUrls, blobUrlExpiry } from "./session/blobs/blob-url.ts";
export {
  BLOB_ERRORS,
  BlobError,
  type BlobErrorCode,
  type ServedBlob,
  openBlob,
} from "./session/blobs/open-blob.ts";
export { readTurnResult } from "./session/history/turn-result.ts";
export { readSharedSession, type SharedHistory } from "./session/history/shared-history.ts";
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
  AuditRow,
  UsageAdd,
  UsageDay,
  UsageLedger,
} from "./store/ports/audit.ts";
export {
  type Attachment,
  type Attachments,
  type Blobs,
  MAX_BLOB_BYTES,
  type NewAttachment,
  type NewUpload,
  type TextChunk,
  type Upload,
  type Uploads,
} from "./store/ports/files.ts";
export { type Env, systemEnv } from "./util/env.ts";
export type {
  EpochClaim,
  EpochRecord,
  Epochs,
  Erasure,
  NewSession,
  NextEpoch,
  UserNumbers,
  Session,
  SessionPage,
  Sessions,
  Tenant,
  Tenants,
} from "./store/ports/sessions.ts";
export { isStoreError, STORE_ERRORS, StoreError, type StoreErrorCode } from "./store/errors.ts";
export { forkShare } from "./store/fork/fork-share.ts";
export type {
  Allowance,
  Allowances,
  TransitionResult,
  TransitionRequest,
  FormDraft,
  FormDrafts,
  Interaction,
  InteractionChange,
  InteractionPage,
  InteractionRequest,
  Interactions,
  NewAllowance,
} from "./store/ports/interactions.ts";
export type { KeyInfo, Keys, NewKey, Share, Shares, VerifiedKey } from "./store/ports/access.ts";
export type {
  Journal,
  JournalEntry,
  Leases,
  NewJournalEntry,
  NewMessage,
  NewTurn,
  RunningTurns,
  RunningTurn,
  StopReceipt,
  QueuedMessages,
} from "./store/ports/running.ts";
export { createMemoryStore } from "./store/memory/store.ts";
export type {
  ApplyResult,
  NewOrder,
  PaymentNotice,
  Order,
  OrderTransition,
  Payments,
} from "./store/ports/payments.ts";
export { describeConnectionError, isDatabaseUrl } from "./store/postgres/database-url.ts";
export { migrate } from "./store/postgres/migrate.ts";
export { openDatabase, type PostgresOptions } from "./store/postgres/open-database.ts";
export { createPostgresStore, type PostgresStoreOptions } from "./store/postgres/store.ts";
export type { Actor, SessionRef } from "./store/refs.ts";
export { type BlobGrant, readBlobToken, signBlob } from "./store/rules/blob-token.ts";
export { readShareToken, signShare } from "./store/rules/share-token.ts";
export type { ClosableStore, Store, StorePorts } from "./store/store.ts";
export {
  AuditChecker,
  type AuditFault,
  type AuditFaultKind,
  type AuditVerdict,
  verifyAudit,
  verifyTenantAudit,
} from "./store/rules/verify-audit.ts";
export { FETCH_ERRORS, FetchError, type FetchErrorCode, isFetchError } from "./safe-fetch/errors.ts";
export type { FetchPolicy, Lookup } from "./safe-fetch/policy.ts";
export { safeFetch, type SafeFetchOptions, type SafeResponse } from "./safe-fetch/safe-fetch.ts";
export { ModelError, type ModelErrorReason } from "./models/errors.ts";
export {
  type ScriptedReply,
  script,
  type CallOptions,
  type ScriptFinishOptions,
  type Failure,
  type StreamPace,
  type ScriptPart,
  type Repeat,
} from "./models/script-parts.ts";
export {
  type Script,
  type ScriptCall,
  scriptedModel,
  type ScriptedOptions,
} from "./models/scripted-model.ts";
export { createDbosEngine, type DbosEngineOptions } from "./engine/dbos.ts";
export type { EngineLog } from "./engine/dbos-log.ts";
export { migrateEngine, type MigrateEngineOptions } from "./engine/dbos-migrate.ts";
export type { Engine, Job, JobHandler } from "./engine/engine.ts";
export { ENGINE_ERRORS, EngineError, type EngineErrorCode, isEngineError } from "./engine/errors.ts";
export { createExecutor, type Executor, type ExecutorEnv, type ExecutorOptions } from "./engine/executor.ts";
export {
  createMemoryEngine,
  createMemoryEngineHub,
  type MemoryEngineOptions,
  type MemoryEngineHub,
} from "./engine/memory.ts";
export type { JobsOptions } from "./engine/jobs.ts";
export {
  createSession,
  ensureSessionLog,
  reopenIdleLog,
  type CreateSessionOptions,
} from "./session/lifecycle/create.ts";
export { type SendMessageInput, sendMessage, withdrawMessage } from "./session/messages/send.ts";
export {
  DEFAULT_UPLOAD_LIMITS,
  readUpload,
  type UploadResult,
  uploadFile,
  uploadIdOf,
  type UploadLimits,
  type UploadOptions,
} from "./session/blobs/upload.ts";
export { stopTurn, type StopTurnOptions } from "./session/messages/stop-turn.ts";
export {
  encodeSessionRef,
  decodeSessionRef,
  STOPS_CHANNEL,
  TURNS_CHANNEL,
} from "./session/signal-channels.ts";
export { createMemorySignals } from "./signals/memory.ts";
export { createRedisSignals, type RedisSignalsOptions } from "./signals/redis.ts";
export type { Signals } from "./signals/signals.ts";
export {
  type Agent,
  type AgentOptions,
  type SubAgentTool,
  type Compaction,
  defineAgent,
  type InstructionsContext,
  type RecallLimits,
} from "./runtime/define/agent.ts";
export type {
  AiSdkPart,
  AiSdkResult,
  StreamBody,
  StreamBodyContext,
  StreamBodyEvent,
} from "./runtime/define/stream-body.ts";
export { defineStreamAgent, type StreamAgentOptions } from "./runtime/define/stream-agent.ts";
export type { FormSpec } from "./runtime/define/form.ts";
export { DEFAULT_LIMITS, type Limits, type Pricing } from "./runtime/define/limits.ts";
export {
  type CitableItem,
  type FileInput,
  type ArtifactInput,
  type ImageInput,
  type ResultBlock,
  type Tool,
  tool,
  type ToolContext,
  type ToolDisplay,
  ToolError,
  type ToolErrorOptions,
  type ToolOptions,
  type ToolOutput,
} from "./runtime/define/tool.ts";
export { DEFAULT_FILE_LIMITS, type FileLimits } from "./runtime/define/file-limits.ts";
export { type FileErrorCode, RuntimeError, type RuntimeErrorCode } from "./runtime/errors.ts";
export { createWorker, type Worker } from "./runtime/worker/worker.ts";
export type { EngineCallbacks, WorkerOptions } from "./runtime/worker/options.ts";
export type { ErrorContext, ErrorHandler } from "./util/error-handler.ts";
export { DEFAULT_STRINGS, type RuntimeStrings } from "./runtime/strings.ts";
export { type SupervisedWorker, startWorker } from "./runtime/worker/supervise.ts";
export { canRetry, type RetryReceipt, retryTurn } from "./session/messages/retry-turn.ts";
export type { Model, ModelSettings } from "./models/model.ts";
export { ToolSchemaError } from "./models/tool-schema.ts";
export type { TurnOptions } from "./runtime/turn/turn-options.ts";
export type { Approval, ApprovalContext, ApprovalOptions } from "./runtime/define/approval.ts";
export { decideApproval, type ApprovalDecision } from "./session/interactions/decide-approval.ts";
export { readFormDraft, saveFormDraft } from "./session/interactions/form-drafts.ts";
export {
  declineForm,
  FormClosedError,
  FormError,
  type DeclineFormInput,
  type SubmitFormInput,
  submitForm,
} from "./session/interactions/submit-form.ts";
export type {
  ToolSourceConnection,
  ToolSourceContext,
  SourceTool,
  ToolSource,
} from "./runtime/define/tool-source.ts";
export {
  listAllowances,
  type RevokeAllowanceInput,
  revokeAllowance,
} from "./session/interactions/allowances.ts";
export {
  answerQuestion,
  dismissQuestion,
  type DismissQuestionInput,
  type AnswerQuestionInput,
} from "./session/interactions/answer-question.ts";
export { type BuiltInOptions, builtInTools } from "./runtime/built-in/tools.ts";
export type { FetchWebContentOptions } from "./runtime/built-in/fetch-web-content.ts";
export type { ImageGenerator, ImageRequest } from "./runtime/built-in/generate-image.ts";
export type { HttpRequestOptions } from "./runtime/built-in/http-request.ts";
export type { HttpMethod, HttpRule } from "./runtime/built-in/http-rules.ts";
export {
  fullTextSearch,
  type KnowledgeOptions,
  type KnowledgeQuery,
  type KnowledgeSearch,
} from "./runtime/built-in/knowledge.ts";
export type { WebPage, WebQuery, WebSearch } from "./runtime/built-in/search-web.ts";
export {
  type Imported,
  importKnowledge,
  type ImportOptions,
  type ImportOutcome,
  type KnowledgeFile,
} from "./knowledge/import.ts";
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
export { editMemory, eraseMemories, eraseMemory, listMemories } from "./session/memories.ts";
export { SCOPES } from "./gateway/auth/access.ts";
export { type Gateway, createGateway } from "./gateway/gateway.ts";
export { createServer, type Server, type ServerOptions } from "./gateway/create-server.ts";
export type { HandleContext } from "./gateway/http/fetch-handler.ts";
export {
  DEFAULT_GATEWAY_LIMITS,
  type GatewayLimits,
  type GatewayOptions,
  type TrustProxy,
} from "./gateway/options.ts";
export { signToken, type TokenClaims } from "./gateway/auth/tokens.ts";
