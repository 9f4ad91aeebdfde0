/** The options of `createClient`. Types only. */

import type { Credentials } from "./auth/auth.ts";
import type { ClientDialect } from "./dialects/client-dialect.ts";
import type { ClientEnv } from "./env.ts";

export interface ClientOptions {
  /** The gateway, such as "https://chat.example.com"; its addresses follow under /api/v1. */
  readonly url: string;
  /**
   * Asked before the first connect, and again when what it gave was refused or is about to expire.
   * Throw a `ClientError` with UNAUTHENTICATED to say that the person has to sign in: the connection is closed then.
   * Whatever else is thrown, as without a network or while your server is replaced, is tried again later.
   */
  readonly auth: () => Credentials | Promise<Credentials>;
  /** Whether tabs of one browser and one person share a connection. Unless told, they do where they can. */
  readonly shareTabs?: boolean;
  /** Unless told: sockets first, event streams where sockets don't pass. */
  readonly channels?: readonly ("websocket" | "sse")[];
  /** For a server that speaks only this one: from `@turnstream/client/blocks`, `/tasks` or `/responses`. */
  readonly dialect?: ClientDialect;
  readonly env?: Partial<ClientEnv>;
}
