/** What a client is made of, and what of the surroundings it uses. Types only; what is used unless told is in env.ts. */

import type { ClientDialect } from "./dialects/client-dialect.ts";

/** What a request is let in by. A token of a person in browsers; headers (such as an API key's) only on servers. */
export type Credentials = { readonly token: string } | { readonly headers: Readonly<Record<string, string>> };

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
  readonly wires?: readonly ("socket" | "stream")[];
  /** For a server that speaks only this one: from `@turnstream/client/blocks`, `/tasks` or `/responses`. */
  readonly dialect?: ClientDialect;
  readonly env?: Partial<ClientEnv>;
}

/** What tests, servers and odd browsers put in place of what is global. */
export interface ClientEnv {
  readonly now: () => number;
  readonly random: () => number;
  readonly id: () => string;
  readonly fetch: typeof fetch;
  readonly WebSocket: typeof WebSocket;
  /** Keeps what is not sent over a reload; null: kept only while the page lives. */
  readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length"> | null;
  /** When the next frame is drawn; where nothing is drawn, soon. Returns how to take it back. */
  readonly nextFrame: (run: () => void) => () => void;
  /** Once, after that many milliseconds. Returns how to take it back. */
  readonly setTimer: (run: () => void, ms: number) => () => void;
  readonly outside: Outside;
}

/** What a page knows of the machine and of who looks. */
export interface Outside {
  /** Whether this is a page: its sockets have an origin and no headers, so they are let in by tickets. */
  readonly isPage: boolean;
  isOnline(): boolean;
  isHidden(): boolean;
  onChange(changed: () => void): () => void;
}
