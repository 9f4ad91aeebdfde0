/** `@turnstream/client`: a session as a store, over a connection that comes back by itself. Browser and Node. */
export { type Client, createClient, type SessionInfo, type SessionPage } from "./client.ts";
export { type ConnectionPhase, type ConnectionView, NOT_CONNECTED } from "./transport/status.ts";
export type { ClientDialect } from "./dialects/client-dialect.ts";
export { ClientError, type ClientErrorWord } from "./errors.ts";
export type { Link, LinkCommand, LinkHandler, Watch } from "./transport/transport.ts";
export type { Credentials } from "./auth/auth.ts";
export type { ClientEnv, Outside } from "./env.ts";
export type { ClientOptions } from "./options.ts";
export type {
  Decision,
  NewMessage,
  OlderView,
  Outgoing,
  SentMessage,
  Session,
  SessionView,
  UploadedFile,
  UploadOptions,
} from "./session/session.ts";
