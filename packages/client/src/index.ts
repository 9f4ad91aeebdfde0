/**
 * `@turnstream/client`: a store per session, over a connection that reconnects automatically. For browsers and Node.
 * Invariant: view logic and static sessions have their own subpaths, so that a page loads only the code that it uses.
 */
export { createClient } from "./client.ts";
export type { AgentInfo, Client, SessionPage } from "./client-interface.ts";
export type { SessionInfo } from "./session-info.ts";
export type { ConnectionView } from "./transport/status.ts";
export type { ClientDialect } from "./transport/client-dialect.ts";
export { ClientError, type ClientErrorCode } from "./errors.ts";
export type { ClientEvent } from "./report.ts";
export type { Credentials } from "./auth/auth.ts";
export { signIn } from "./auth/sign-in.ts";
export { clearStoredData } from "./outbox/storage.ts";
export type { ClientOptions } from "./options.ts";
export type { ListedShare, SharedSession, ShareInfo, ShareOptions, SharePage } from "./shares.ts";
export { type DehydrateOptions, dehydrateSession } from "./session/dehydrate-session.ts";
export type {
  MessageInput,
  HistoryView,
  PaymentPage,
  PendingMessage,
  SendResult,
  Session,
  SessionView,
  UploadedFile,
} from "./session/session.ts";
