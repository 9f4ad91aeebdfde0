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
export { createRedisLog, type RedisLogOptions } from "./log/redis/create-redis-log.ts";
export { isRedisUrl } from "./log/redis/connection/address.ts";
export { type Blob, type BlobSink, fit } from "./log/writer/oversize.ts";
export { Writer, type WriterOptions } from "./log/writer/writer.ts";
export {
  type Archived,
  type ArchiveOptions,
  archiveSession,
  trimSession,
} from "./session/archive/archive.ts";
export { claimIdle, type Claimed, type ClaimRequest, claimSession } from "./session/lifecycle/claim.ts";
export { eraseExpired, eraseSession, eraseUser, finishErasures } from "./session/lifecycle/erase.ts";
export {
  type History,
  type HistoryOptions,
  readHistory,
  readOlderTurns,
} from "./session/history/read-history.ts";
export type { CommandParts, Parts } from "./session/backend.ts";
export {
  type Delivered,
  deliverCommitted,
  type Relayed,
  type RelayOptions,
  relayOutbox,
} from "./session/archive/relay-outbox.ts";
export { type AddressOptions, blobAddresses, expiryAt } from "./session/blobs/blob-url.ts";
export {
  BLOB_ERRORS,
  BlobError,
  type BlobErrorCode,
  type OpenedBlob,
  openBlob,
} from "./session/blobs/open-blob.ts";
export { readEndState } from "./session/history/turn-result.ts";
export { readShared, type SharedHistory } from "./session/history/shared-history.ts";
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
export type { AuditHead, AuditRow } from "./store/rules/audit.ts";
export type { Audit, AuditEntry, UsageAdd, UsageDay, UsageLedger } from "./store/ports/audit.ts";
export {
  type Attachment,
  type Attachments,
  type Blobs,
  MAX_BLOB_BYTES,
  type NewAttachment,
  type NewUpload,
  type Piece,
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
  People,
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
  ChangeResult,
  ChangeWish,
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
  Running,
  RunningTurn,
  StopReceipt,
  Waiting,
} from "./store/ports/running.ts";
export { memoryStore } from "./store/memory/store.ts";
export type { ApplyResult, NewOrder, Notice, Order, OrderMove, Payments } from "./store/ports/payments.ts";
export { databaseProblem, isDatabaseUrl } from "./store/postgres/database-url.ts";
export { migrate } from "./store/postgres/migrate.ts";
export { openDatabase, type PostgresOptions } from "./store/postgres/open-database.ts";
export { postgresStore, type PostgresStoreOptions } from "./store/postgres/store.ts";
export type { Actor, Ref } from "./store/refs.ts";
export { type BlobGrant, readBlobToken, signBlob } from "./store/rules/blob-token.ts";
export { readShareToken, signShare } from "./store/rules/share-token.ts";
export type { OpenStore, Store, StorePorts } from "./store/store.ts";
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
  type Answer,
  breakOff,
  call,
  type CallOptions,
  type Ending,
  fail,
  type Failure,
  finish,
  hang,
  type Pace,
  say,
  type ScriptPart,
  think,
  type Times,
  wait,
} from "./models/script-parts.ts";
export { type Script, type ScriptCall, scripted, type ScriptedOptions } from "./models/scripted-model.ts";
export { createDbosEngine, type DbosEngineOptions } from "./engine/dbos.ts";
export type { EngineLog } from "./engine/dbos-log.ts";
export { migrateEngine, type MigrateEngineOptions } from "./engine/dbos-migrate.ts";
export type { Engine, Job, Work } from "./engine/engine.ts";
export { ENGINE_ERRORS, EngineError, type EngineErrorCode, isEngineError } from "./engine/errors.ts";
export { createExecutor, type Executor, type ExecutorEnv, type ExecutorOptions } from "./engine/executor.ts";
export {
  createInlineEngine,
  createInlineHub,
  type InlineEngineOptions,
  type InlineHub,
} from "./engine/memory.ts";
export type { JobsOptions } from "./engine/jobs.ts";
export { createSession, openSession, reopenIdle, type SessionWish } from "./session/lifecycle/create.ts";
export { type SentMessage, sendMessage, withdrawMessage } from "./session/messages/send.ts";
export {
  DEFAULT_UPLOAD_LIMITS,
  readUpload,
  type Uploaded,
  uploadFile,
  uploadIdOf,
  type UploadLimits,
  type UploadWish,
} from "./session/blobs/upload.ts";
export { stopTurn, type StopWish } from "./session/messages/stop-turn.ts";
export { formatRef, parseRef, STOPS_CHANNEL, TURNS_CHANNEL } from "./session/signal-channels.ts";
export { createMemorySignals } from "./signals/memory.ts";
export { createRedisSignals, type RedisSignalsOptions } from "./signals/redis.ts";
export type { Signals } from "./signals/signals.ts";
export {
  type Agent,
  type AgentOptions,
  type Compaction,
  defineAgent,
  type InstructionsContext,
  type RecallLimits,
} from "./runtime/define/agent.ts";
export type { AiSdkPart, AiSdkResult, Body, BodyContext, BodyEvent } from "./runtime/define/stream-body.ts";
export { fromStream, type FromStreamOptions } from "./runtime/define/stream-agent.ts";
export type { FormSpec } from "./runtime/define/form.ts";
export { DEFAULT_LIMITS, type Limits, type Prices } from "./runtime/define/limits.ts";
export {
  type Citable,
  type FileData,
  type GivenArtifact,
  type PictureData,
  type ResultBlock,
  type Tool,
  tool,
  type ToolContext,
  type ToolDisplay,
  ToolError,
  type ToolOptions,
  type ToolOutput,
} from "./runtime/define/tool.ts";
export type { FileProblem } from "./runtime/files/load-file.ts";
export { DEFAULT_FILE_LIMITS, type FileLimits } from "./runtime/define/file-limits.ts";
export { RuntimeError, type RuntimeErrorCode } from "./runtime/errors.ts";
export { type EngineHooks, startWorker, type Worker, type WorkerOptions } from "./runtime/worker/worker.ts";
export { DEFAULT_WORDS, type Words } from "./runtime/strings.ts";
export { type KeptWorker, keepWorker } from "./runtime/worker/supervise.ts";
export { canRetry, type RetryReceipt, retryTurn } from "./session/messages/retry-turn.ts";
export type { Model, ModelSettings } from "./models/model.ts";
export { ToolSchemaError } from "./models/tool-schema.ts";
export type { TurnOptions } from "./runtime/turn/turn-options.ts";
export type { Approval, ApprovalContext, ApprovalOptions } from "./runtime/define/approval.ts";
export { decideApproval, type Decision } from "./session/interactions/decide-approval.ts";
export { readFormDraft, saveFormDraft } from "./session/interactions/form-drafts.ts";
export {
  declineForm,
  FormClosedError,
  FormError,
  type FormRefusal,
  type FormSubmission,
  submitForm,
} from "./session/interactions/submit-form.ts";
export type { OpenSource, SourceHost, SourceTool, ToolSource } from "./runtime/define/tool-source.ts";
export { listAllowances, type Revocation, revokeAllowance } from "./session/interactions/allowances.ts";
export {
  answerQuestion,
  dismissQuestion,
  type Dismissal,
  type QuestionAnswer,
} from "./session/interactions/answer-question.ts";
export { type BuiltInOptions, builtInTools } from "./runtime/built-in/tools.ts";
export type { FetchWebContentOptions } from "./runtime/built-in/fetch-web-content.ts";
export type { ImageGenerator, ImageWish } from "./runtime/built-in/generate-image.ts";
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
export { ACTIONS as SCOPES } from "./gateway/auth/access.ts";
export { type Gateway, createGateway } from "./gateway/gateway.ts";
export type { TrustProxy } from "./gateway/auth/client-address.ts";
export { createServer, type Server, type ServerOptions } from "./gateway/create-server.ts";
export type { HandleContext } from "./gateway/http/fetch-handler.ts";
export { DEFAULT_GATEWAY_LIMITS, type GatewayLimits, type GatewayOptions } from "./gateway/options.ts";
export { makeToken, type TokenGrant } from "./gateway/auth/tokens.ts";
