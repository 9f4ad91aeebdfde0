/** What a client is made of, and what of the surroundings it uses. Types only. */

/** What a request is let in by. A token of a person in browsers; headers (such as an API key's) only on servers. */
export type Credentials = { readonly token: string } | { readonly headers: Readonly<Record<string, string>> };

export interface ClientOptions {
  /** The gateway, such as "https://chat.example.com"; its addresses follow under /api/v1. */
  readonly url: string;
  /**
   * Asked before the first connect, and again when what it gave was refused or is about to expire.
   * Throw to say that the person has to sign in: the connection is closed then, with UNAUTHENTICATED.
   */
  readonly auth: () => Credentials | Promise<Credentials>;
  /** Whether tabs of one browser and one person share a connection. Unless told, they do where they can. */
  readonly shareTabs?: boolean;
  /** Unless told: sockets first, event streams where sockets don't pass. */
  readonly wires?: readonly ("socket" | "stream")[];
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
}
