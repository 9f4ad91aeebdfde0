/**
 * `ClientOptions` are the options of `createClient`. Types only.
 * Invariant: the defaults here match `client.ts` and the table in docs/client.md.
 */

import type { Credentials } from "./auth/auth.ts";
import type { ClientDialect } from "./transport/client-dialect.ts";
import type { ClientEnv } from "./env.ts";
import type { ReportOptions } from "./report.ts";

export interface ClientOptions extends ReportOptions {
  /** The address of the gateway, such as "https://chat.example.com". The client appends /api/v1. */
  readonly url: string;
  /**
   * Returns the credentials. Called before the first connect, and again after a rejection or shortly before they
   * expire.
   * Throw a `ClientError` with UNAUTHENTICATED if the user must sign in; the client then closes the connection.
   * The client retries after any other error, such as a network failure or a deploy of your server.
   */
  readonly auth: () => Credentials | Promise<Credentials>;
  /**
   * The channels to try, in this order. The client uses event streams if sockets don't connect.
   * @default those of the dialect, or ["websocket", "sse"]
   */
  readonly channels?: readonly ("websocket" | "sse")[];
  /**
   * The dialect of a server without the native one: `blocks`, `tasks` or `responses` of `@turnstream/dialects`.
   * @default native
   */
  readonly dialect?: ClientDialect;
  readonly env?: Partial<ClientEnv>;
}
