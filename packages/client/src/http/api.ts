/**
 * Requests to the HTTP interface with the credentials of the moment. Those that are refused are asked for anew, once; what
 * isn't answered for a minute is given up. Never repeats what may have been done.
 */
import { type Auth, credentialHeaders, type Credentials } from "../auth/auth.ts";
import { ClientError } from "../errors.ts";
import type { ClientEnv } from "../env.ts";
import { errorFromConnectResponse, errorFromResponse } from "./error-response.ts";

export interface Api {
  /** Where everything is, with `/api/v1`. */
  readonly base: string;
  readonly auth: Auth;
  /** Whatever the server answers, refusals too. Rejects with a ClientError when nothing was answered. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /**
   * The JSON of a good answer; null when it has none. Rejects with a ClientError otherwise.
   * @param limitMs how long it may take; null for what lasts as long as there are bytes
   */
  json(path: string, init?: RequestInit, limitMs?: number | null): Promise<unknown>;
}

export interface ApiOptions {
  readonly url: string;
  readonly auth: Auth;
  readonly env: Pick<ClientEnv, "fetch" | "page" | "setTimer">;
}

/** How long anybody waits for an answer, whatever brings it. */
export const RESPONSE_TIMEOUT_MS = 60_000;
const TIMED_OUT = new Error("no answer in time");

export function createApi({ url, auth, env }: ApiOptions): Api {
  const base = `${url.replace(/\/+$/, "")}/api/v1`;

  const once = async (path: string, init: RequestInit): Promise<Response> => {
    const credentials = await auth.get();
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(credentialHeaders(credentials))) headers.set(name, value);
    try {
      const response = await env.fetch(`${base}${path}`, { ...init, headers });
      if (response.status === 401) auth.reject(credentials);
      return response;
    } catch (error) {
      throw toNetworkError(error, init, env.page.isOnline());
    }
  };

  const request = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const response = await once(path, init);
    return response.status === 401 && canRepeat(init) ? once(path, init) : response;
  };

  const read = async (path: string, init: RequestInit): Promise<unknown> => {
    const response = await request(path, init);
    if (!response.ok) throw await errorFromResponse(response);
    if (response.status === 204) return null;
    return response.json().catch((error: unknown) => {
      if (init.signal?.aborted === true) throw toNetworkError(error, init, env.page.isOnline());
      throw new ClientError("SERVER_ERROR", "The server's answer can't be read.", { canRetry: true });
    });
  };

  return {
    base,
    auth,
    request,
    async json(path, init = {}, limitMs = RESPONSE_TIMEOUT_MS) {
      if (limitMs === null) return await read(path, init);
      const limit = new AbortController();
      const cancel = env.setTimer(() => limit.abort(TIMED_OUT), limitMs);
      const signal = init.signal ? AbortSignal.any([init.signal, limit.signal]) : limit.signal;
      try {
        return await read(path, { ...init, signal });
      } finally {
        cancel();
      }
    },
  };
}

/** A body that is read as it is sent is gone. */
function canRepeat({ body }: RequestInit): boolean {
  return !(body instanceof ReadableStream);
}

/** What is only asked has changed nothing. */
function toNetworkError(
  cause: unknown,
  { method = "GET", signal }: RequestInit,
  isOnline: boolean,
): ClientError {
  if (signal?.aborted === true && signal.reason !== TIMED_OUT)
    return new ClientError("ABORTED", "It was given up.", { cause });
  const options = { cause, canRetry: true };
  if (method === "GET" || !isOnline)
    return new ClientError("OFFLINE", "The server can't be reached. Try again later.", options);
  return new ClientError(
    "UNSURE",
    "The connection was lost before the answer. Look whether it was done.",
    options,
  );
}

/** The init of a request with a JSON body. */
export function jsonInit(method: string, body: unknown, headers: Record<string, string> = {}): RequestInit {
  return { method, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

/** Getting in: credentials and a ticket. Both are asked for before every connect; the answer also tells the server's time. */
export interface Ticket {
  readonly credentials: Credentials;
  readonly ticket: string;
  /** The server's clock minus this machine's; null when it isn't told. */
  readonly skewMs: number | null;
}

/** Rejects with a ClientError: UNAUTHENTICATED when these credentials let nobody in. */
export async function requestTicket(
  api: Api,
  env: Pick<ClientEnv, "now">,
  renew: boolean,
  signal: AbortSignal,
): Promise<Ticket> {
  const { auth } = api;
  if (renew && auth.current !== null) auth.reject(auth.current);
  // Not part of the way to the server and back.
  await auth.get();
  const before = env.now();
  const response = await api.request("/tickets", { method: "POST", signal });
  const after = env.now();
  if (!response.ok) throw await errorFromConnectResponse(response);
  const { ticket, now } = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const credentials = auth.current;
  if (typeof ticket !== "string" || credentials === null)
    throw new ClientError("SERVER_ERROR", "The server gave no ticket.", { canRetry: true });
  const skewMs = typeof now === "number" ? now - Math.round((before + after) / 2) : null;
  return { credentials, ticket, skewMs };
}
