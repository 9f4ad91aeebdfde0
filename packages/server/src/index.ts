/**
 * `@turnstream/server` exports the public API: define agents and tools, start workers and gateways, and run commands
 * on sessions. `/testing` has models and backends for tests, `/mcp` MCP tools.
 * Invariant: every name here is public, so removing or renaming one breaks apps. The members of `Store`, `Log` and
 * `Signals` are not: apps pass these objects on. Only features use `use`, `transaction` and `webhooks.enqueue` of a store.
 */
// oxlint-disable-next-line import/no-unassigned-import -- it must run before all other imports
import "./util/require-node.ts";
export { EngineError } from "./engine/errors.ts";
export { SCOPES } from "./gateway/auth/access.ts";
export type { UserOf } from "./gateway/auth/sign-in.ts";
export { signToken } from "./gateway/auth/tokens.ts";
export { createServer, type Server, type ServerLogger, type ServerOptions } from "./gateway/create-server.ts";
export { RequestError, ServiceError } from "./gateway/errors.ts";
export { createGateway, type Gateway } from "./gateway/gateway.ts";
export { describeHttpApi } from "./gateway/http/describe-http-api.ts";
export { defineRoute, type Route } from "./gateway/http/route.ts";
export type { HandleContext } from "./gateway/http/fetch-handler.ts";
export { DEFAULT_GATEWAY_LIMITS, type GatewayLimits } from "./gateway/gateway-limits.ts";
export { type GatewayOptions } from "./gateway/options.ts";
export { isLogError, LogError } from "./log/errors.ts";
export type { Log } from "./log/log.ts";
export { createRedisLog, type RedisLogOptions } from "./log/redis/create-redis-log.ts";
export { ModelError } from "./models/errors.ts";
export type { Model } from "./models/model.ts";
export { type BuiltInOptions, builtInTools } from "./runtime/built-in/tools.ts";
export {
  type Agent,
  type AgentOptions,
  defineAgent,
  type InstructionsContext,
} from "./runtime/define/agent.ts";
export type { Approval, ApprovalContext, ApprovalOptions } from "./runtime/define/approval.ts";
export type { FileLimits } from "./runtime/define/file-limits.ts";
export type { FormSpec } from "./runtime/define/form.ts";
export type { ImageLimits } from "./runtime/define/image-limits.ts";
export type { Limits } from "./runtime/define/limits.ts";
export { defineStreamAgent, type StreamAgentOptions } from "./runtime/define/stream-agent.ts";
export type { StreamBodyContext, StreamBodyEvent } from "./runtime/define/stream-body.ts";
export type { SummarizeGroup } from "./runtime/define/summarize-group.ts";
export type {
  SourceTool,
  ToolSource,
  ToolSourceConnection,
  ToolSourceContext,
} from "./runtime/define/tool-source.ts";
export {
  type ArtifactInput,
  type CitableItem,
  type FileInput,
  type ImageInput,
  type ResultBlock,
  tool,
  type Tool,
  type ToolContext,
  ToolError,
  type ToolOptions,
  type ToolOutput,
} from "./runtime/define/tool.ts";
export type { TurnActivity, TurnObserver } from "./runtime/define/turn-observer.ts";
export { RuntimeError } from "./runtime/errors.ts";
export { BUILT_IN_STRINGS, type StringCatalogs } from "./runtime/strings/catalogs.ts";
export type { RuntimeStrings } from "./runtime/strings/runtime-strings.ts";
export type { WorkerOptions } from "./runtime/worker/options.ts";
export { startWorker, type SupervisedWorker } from "./runtime/worker/supervise.ts";
export { FetchError } from "./safe-fetch/errors.ts";
export type { FetchPolicy } from "./safe-fetch/policy.ts";
export type { Backend, CommandBackend } from "./session/backend.ts";
export { createBlobUrls } from "./session/blobs/blob-url.ts";
export { BlobError, openBlob } from "./session/blobs/open-blob.ts";
export { uploadFile } from "./session/blobs/upload.ts";
export { createKey, ensureTenant } from "./session/create-key.ts";
export { readHistory, readOlderTurns, type SessionHistory } from "./session/history/read-history.ts";
export { readSharedSession } from "./session/history/shared-history.ts";
export { TurnError } from "./session/history/turn-error.ts";
export { listAllowances, revokeAllowance } from "./session/interactions/allowances.ts";
export { answerQuestion, dismissQuestion } from "./session/interactions/answer-question.ts";
export { type ApprovalDecision, decideApproval } from "./session/interactions/decide-approval.ts";
export { readFormDraft, saveFormDraft } from "./session/interactions/form-drafts.ts";
export { declineForm, FormError, submitForm } from "./session/interactions/submit-form.ts";
export { createSession, type CreateSessionOptions } from "./session/lifecycle/create.ts";
export { eraseSession, eraseUser } from "./session/lifecycle/erase.ts";
export { editMemory, eraseMemories, eraseMemory, listMemories } from "./session/memories.ts";
export { retryTurn } from "./session/messages/retry-turn.ts";
export { sendMessage, type SendMessageInput, withdrawMessage } from "./session/messages/send.ts";
export { stopTurn } from "./session/messages/stop-turn.ts";
export { createRedisSignals } from "./signals/redis.ts";
export type { Signals } from "./signals/signals.ts";
export { toAuditId } from "./store/audit.ts";
export { createPostgresStore } from "./store/create-postgres-store.ts";
export { describeConnectionError, isDatabaseUrl } from "./store/database/database-url.ts";
export { migrate, removeFeature } from "./store/database/migrate.ts";
export { openDatabase, type PostgresOptions } from "./store/database/open-database.ts";
export { StoreError } from "./store/errors.ts";
export { createTables, type FeatureTables, type StorePart } from "./store/features.ts";
export { forkShare } from "./store/fork/fork-share.ts";
export type { ObjectStorage } from "./store/objects.ts";
export type { ClosableStore as Store } from "./store/store.ts";
export type { ServerFeature } from "./turnstream/feature.ts";
export type { TurnstreamOptions } from "./turnstream/options.ts";
export type { Parts } from "./turnstream/parts.ts";
export type { SessionCommands, SessionMessage, WaitOptions } from "./turnstream/session-commands.ts";
export { SettingsError } from "./turnstream/settings.ts";
export type { TurnStream } from "./turnstream/turn-stream.ts";
export { turnstream, type Turnstream } from "./turnstream/turnstream.ts";
export type { ErrorContext, ErrorHandler } from "./util/error-handler.ts";
export { OptionsError } from "./util/options-error.ts";
export type { Actor, SessionRef } from "./util/refs.ts";
export { hashAddress, type SecurityEvent, type SecurityEventHandler } from "./util/security-event.ts";
