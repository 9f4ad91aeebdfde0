/**
 * `createAuth` gets credentials from the app and caches them until the server rejects them or they are about to expire.
 * Invariant: concurrent callers share one request to the app, unless it has not settled for 30 seconds. Only the newest
 * request sets the credentials, so a late one never restores another user's token. Credentials are never stored.
 */
import { toClientError, type ClientError } from "../errors.ts";
import type { ClientEnv } from "../env.ts";
import { readClaims } from "./claims.ts";

/** Credentials of a request: a user's token in browsers; headers (such as an API key) only on servers. */
export type Credentials = { readonly token: string } | { readonly headers: Readonly<Record<string, string>> };

export interface Auth {
  /**
   * @throws ClientError with UNAUTHENTICATED if the user must sign in, or with OFFLINE if the app returned no
   * credentials
   */
  get(): Promise<Credentials>;
  /** Marks credentials as rejected, so that the next `get` requests new ones. */
  reject(credentials: Credentials): void;
  /** The latest credentials. */
  readonly current: Credentials | null;
}

/**
 * Renews early, so that credentials don't expire while a request is in flight. Short-lived credentials are renewed less
 * early.
 */
const RENEW_EARLY_MS = 30_000;
/**
 * After this long without a response from the app, a caller starts a new request. The first one may never settle, for
 * example after a network loss.
 */
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
      // Also turns a synchronous throw of the app into a rejection.
      const credentials = await new Promise<Credentials>((resolve) => resolve(getCredentials()));
      if (!isCredentials(credentials)) throw new Error("`auth` must return a token or headers");
      // A newer request may have returned another user's token, so don't overwrite it.
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

/** Measured from now, because the clock of this machine can be hours off the clock of the token's issuer. */
function credentialLifetime(credentials: Credentials): number {
  const { lifeMs } = "token" in credentials ? readClaims(credentials.token) : { lifeMs: null };
  return lifeMs === null ? Infinity : lifeMs - Math.min(RENEW_EARLY_MS, lifeMs / 4);
}

/** The app may have passed on something else from its server, such as an error message. */
function isCredentials(credentials: unknown): boolean {
  const { token, headers } = (credentials ?? {}) as { readonly token?: unknown; readonly headers?: unknown };
  return typeof token === "string" ? token !== "" : typeof headers === "object" && headers !== null;
}

/** Only an explicit UNAUTHENTICATED means that the user must sign in. Any other failure of the app can be temporary. */
function toAuthError(error: unknown): ClientError {
  return toClientError(error, "OFFLINE", "The app returned no token. The client will retry.", {
    canRetry: true,
  });
}
