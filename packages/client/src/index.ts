/**
 * `@turnstream/client`: a store per session, over a connection that reconnects automatically. For browsers and Node.
 * Invariant: dialects, view logic and static sessions have their own subpaths, so that a page loads only the code that
 * it uses.
 */
export { type Client, createClient, type SessionInfo, type SessionPage } from "./client.ts";
export type { ConnectionPhase, ConnectionView } from "./transport/status.ts";
export type { ClientDialect } from "./dialects/client-dialect.ts";
export { ClientError, type ClientErrorCode } from "./errors.ts";
export type { Credentials } from "./auth/auth.ts";
export type { ClientEnv, PageEnv } from "./env.ts";
export type { ClientOptions } from "./options.ts";
export type {
  ApprovalDecision,
  MessageInput,
  HistoryView,
  PendingMessage,
  SendResult,
  Session,
  SessionView,
  UploadedFile,
  UploadOptions,
} from "./session/session.ts";
