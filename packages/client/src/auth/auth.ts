/**
 * What lets this client in: asked of the app, kept until it is refused or about to expire, and asked for once however many
 * want it at the same time. Never stored.
 */
import { toClientError, type ClientError } from "../errors.ts";
import type { ClientEnv } from "../env.ts";
import { readClaims } from "./claims.ts";

/** What a request is let in by. A token of a person in browsers; headers (such as an API key's) only on servers. */
export type Credentials = { readonly token: string } | { readonly headers: Readonly<Record<string, string>> };

export interface Auth {
  /** Throws UNAUTHENTICATED when the app says that the person has to sign in, OFFLINE when it gave none. */
  get(): Promise<Credentials>;
  /** These let nobody in any more: the next ones are asked for anew. */
  reject(credentials: Credentials): void;
  /** The last ones that were given. */
  readonly current: Credentials | null;
}

/** So that a request doesn't arrive with what has expired on its way; less for what lasts only for seconds. */
const RENEW_EARLY_MS = 30_000;
/** An app that hasn't answered for so long may never do, as when the network was lost on the way: it is asked again. */
const ASK_AGAIN_MS = 30_000;

export function createAuth(
  getCredentials: () => Credentials | Promise<Credentials>,
  env: Pick<ClientEnv, "now">,
  onCredentials: (credentials: Credentials) => void = () => {},
): Auth {
  let current: Credentials | null = null;
  let expiresAt = 0;
  let pending: { readonly at: number; readonly credentials: Promise<Credentials> } | null = null;
  let requests = 0;

  const requestCredentials = async (): Promise<Credentials> => {
    const request = ++requests;
    try {
      // Also what is thrown at once is thrown later: by then it is known that it was asked.
      const credentials = await new Promise<Credentials>((resolve) => resolve(getCredentials()));
      if (!isCredentials(credentials)) throw new Error("auth gave neither a token nor headers");
      // Somebody who was asked later may be somebody else.
      if (request !== requests) return credentials;
      current = credentials;
      expiresAt = env.now() + credentialLifetime(credentials);
      onCredentials(credentials);
      return credentials;
    } catch (error) {
      throw toAuthError(error);
    } finally {
      if (request === requests) pending = null;
    }
  };

  return {
    get current() {
      return current;
    },
    get() {
      const now = env.now();
      if (pending !== null && Math.abs(now - pending.at) < ASK_AGAIN_MS) return pending.credentials;
      if (pending === null && current !== null && now < expiresAt) return Promise.resolve(current);
      const credentials = requestCredentials();
      pending = { at: now, credentials };
      return credentials;
    },
    reject(credentials) {
      if (credentials === current) expiresAt = 0;
    },
  };
}

export function credentialHeaders(credentials: Credentials): Readonly<Record<string, string>> {
  return "token" in credentials ? { authorization: `Bearer ${credentials.token}` } : credentials.headers;
}

/** Reckoned from now on: this machine's clock may be hours off the one that made the token. */
function credentialLifetime(credentials: Credentials): number {
  const { lifeMs } = "token" in credentials ? readClaims(credentials.token) : { lifeMs: null };
  return lifeMs === null ? Infinity : lifeMs - Math.min(RENEW_EARLY_MS, lifeMs / 4);
}

/** What an app read from an answer of its server may be something else, such as the words of an error. */
function isCredentials(credentials: unknown): boolean {
  const { token, headers } = (credentials ?? {}) as { readonly token?: unknown; readonly headers?: unknown };
  return typeof token === "string" ? token !== "" : typeof headers === "object" && headers !== null;
}

/** Only who says so means that the person has to sign in: an app can be out of order like any server. */
function toAuthError(error: unknown): ClientError {
  return toClientError(error, "OFFLINE", "The app gave no token. It is asked again.", { canRetry: true });
}
