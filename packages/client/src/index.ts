/**
 * `@turnstream/client`: a store per session, over a connection that reconnects automatically. For browsers and Node.
 * Invariant: view logic, tab sharing and static sessions have their own subpaths, so that a page loads only the code
 * that it uses.
 */
export { createClient } from "./client.ts";
export type { AgentInfo, Client, SessionPage } from "./client-interface.ts";
export type { SessionInfo } from "./session-info.ts";
export type { ConnectionPhase, ConnectionView } from "./transport/status.ts";
export type { ClientDialect } from "./transport/client-dialect.ts";
export {
  ClientError,
  type ClientErrorCode,
  type ClientErrorJson,
  type ClientErrorOptions,
} from "./errors.ts";
export type { ClientEvent } from "./report.ts";
export type { Credentials } from "./auth/auth.ts";
export { signIn } from "./auth/sign-in.ts";
export { clearStoredData } from "./outbox/storage.ts";
export type { ClientEnv, PageEnv } from "./env.ts";
export type { ClientOptions } from "./options.ts";
export type { TabSharing } from "./tabs/types.ts";
export type {
  ListedShare,
  ListSharesOptions,
  SharedSession,
  ShareInfo,
  ShareOptions,
  SharePage,
  SharingClient,
} from "./shares.ts";
export { type DehydrateOptions, dehydrateSession } from "./session/dehydrate-session.ts";
export type {
  ApprovalDecision,
  MessageInput,
  HistoryView,
  PaymentPage,
  PendingMessage,
  SendResult,
  Session,
  SessionOptions,
  SessionView,
  UploadedFile,
  UploadOptions,
} from "./session/session.ts";
