/**
 * What lets this client in: asked of the app, kept until it is refused or about to expire, and asked for once however many
 * want it at the same time. Never stored.
 */
import { asClientError, type ClientError } from "../errors.ts";
import type { ClientEnv } from "../env.ts";
import { claimsOf } from "./claims.ts";

/** What a request is let in by. A token of a person in browsers; headers (such as an API key's) only on servers. */
export type Credentials = { readonly token: string } | { readonly headers: Readonly<Record<string, string>> };

export interface Auth {
  /** Throws UNAUTHENTICATED when the app says that the person has to sign in, OFFLINE when it gave none. */
  get(): Promise<Credentials>;
  /** These let nobody in any more: the next ones are asked for anew. */
  refused(credentials: Credentials): void;
  /** The last ones that were given. */
  readonly known: Credentials | null;
}

/** So that a request doesn't arrive with what has expired on its way; less for what lasts only for seconds. */
const EARLY_MS = 30_000;
/** An app that hasn't answered for so long may never do, as when the network was lost on the way: it is asked again. */
const UNANSWERED_MS = 30_000;

export function createAuth(
  ask: () => Credentials | Promise<Credentials>,
  env: Pick<ClientEnv, "now">,
  onKnown: (credentials: Credentials) => void = () => {},
): Auth {
  let known: Credentials | null = null;
  let goodUntil = 0;
  let asking: { readonly at: number; readonly answer: Promise<Credentials> } | null = null;
  let asked = 0;

  const askAnew = async (): Promise<Credentials> => {
    const mine = ++asked;
    try {
      // Also what is thrown at once is thrown later: by then it is known that it was asked.
      const given = await new Promise<Credentials>((resolve) => resolve(ask()));
      if (!areCredentials(given)) throw new Error("auth gave neither a token nor headers");
      // Somebody who was asked later may be somebody else.
      if (mine !== asked) return given;
      known = given;
      goodUntil = env.now() + lifeOf(given);
      onKnown(given);
      return given;
    } catch (error) {
      throw whyNot(error);
    } finally {
      if (mine === asked) asking = null;
    }
  };

  return {
    get known() {
      return known;
    },
    get() {
      const now = env.now();
      if (asking !== null && Math.abs(now - asking.at) < UNANSWERED_MS) return asking.answer;
      if (asking === null && known !== null && now < goodUntil) return Promise.resolve(known);
      const answer = askAnew();
      asking = { at: now, answer };
      return answer;
    },
    refused(credentials) {
      if (credentials === known) goodUntil = 0;
    },
  };
}

export function headersOf(credentials: Credentials): Readonly<Record<string, string>> {
  return "token" in credentials ? { authorization: `Bearer ${credentials.token}` } : credentials.headers;
}

/** Reckoned from now on: this machine's clock may be hours off the one that made the token. */
function lifeOf(credentials: Credentials): number {
  const { lifeMs } = "token" in credentials ? claimsOf(credentials.token) : { lifeMs: null };
  return lifeMs === null ? Infinity : lifeMs - Math.min(EARLY_MS, lifeMs / 4);
}

/** What an app read from an answer of its server may be something else, such as the words of an error. */
function areCredentials(given: unknown): boolean {
  const { token, headers } = (given ?? {}) as { readonly token?: unknown; readonly headers?: unknown };
  return typeof token === "string" ? token !== "" : typeof headers === "object" && headers !== null;
}

/** Only who says so means that the person has to sign in: an app can be out of order like any server. */
function whyNot(error: unknown): ClientError {
  return asClientError(error, "OFFLINE", "The app gave no token. It is asked again.", { canRetry: true });
}
