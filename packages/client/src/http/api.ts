/**
 * `createApi` sends HTTP requests with the current credentials, and `requestTicket` gets a ticket before each connect.
 * Invariant: after a 401 the client requests new credentials and repeats the request once, unless its body is a stream.
 * No other request is repeated. Without a response, a GET rejects with OFFLINE and any other request of an online page
 * with UNSURE. `json` has a timeout by default, `request` has none. Every request is reported, and every failed one
 * that has no other reader.
 */
import { type Auth, credentialHeaders, type Credentials } from "../auth/auth.ts";
import { ClientError, withoutSecrets } from "../errors.ts";
import type { ClientEnv } from "../env.ts";
import { NO_REPORTS, type Reporter } from "../report.ts";
import { errorFromConnectResponse, errorFromResponse } from "./error-response.ts";

export interface Api {
  /** The address of the gateway. */
  readonly url: string;
  /** The base address, including `/api/v1`. */
  readonly base: string;
  readonly auth: Auth;
  readonly report: Reporter;
  /** Returns the response of the server, including errors. Rejects with a ClientError if there is no response. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /**
   * Returns the JSON of a successful response, or null if it has none. Rejects with a ClientError otherwise.
   * @param limitMs timeout in milliseconds; null for requests that last as long as bytes flow
   */
  json(path: string, init?: RequestInit, limitMs?: number | null): Promise<unknown>;
}

export interface ApiOptions {
  readonly url: string;
  readonly auth: Auth;
  readonly env: Pick<ClientEnv, "now" | "fetch" | "page" | "setTimer">;
  readonly report?: Reporter;
}

/** Timeout for a reply, over any channel. */
export const RESPONSE_TIMEOUT_MS = 60_000;
const TIMED_OUT = new Error("the request timed out");

export function createApi({ url, auth, env, report = NO_REPORTS }: ApiOptions): Api {
  const base = `${url.replace(/\/+$/, "")}/api/v1`;

  const once = async (path: string, init: RequestInit): Promise<Response> => {
    const credentials = await auth.get();
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(credentialHeaders(credentials))) headers.set(name, value);
    const address = `${base}${path}`;
    const startedAt = env.now();
    const reportRequest = (response: Response | null): void =>
      report.event?.({
        type: "request",
        method: init.method ?? "GET",
        url: withoutSecrets(address),
        status: response?.status ?? null,
        requestId: response?.headers.get("x-request-id") ?? null,
        durationMs: env.now() - startedAt,
      });
    try {
      const response = await env.fetch(address, { ...init, headers });
      reportRequest(response);
      if (response.status === 401) auth.reject(credentials);
      return response;
    } catch (error) {
      reportRequest(null);
      throw toNetworkError(error, address, init, env.page.isOnline());
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
    return response.json().catch((cause: unknown) => {
      if (init.signal?.aborted === true) throw toNetworkError(cause, response.url, init, env.page.isOnline());
      throw unreadable(response, "The response can't be parsed.", cause);
    });
  };

  return {
    url,
    base,
    auth,
    report,
    request,
    async json(path, init = {}, limitMs = RESPONSE_TIMEOUT_MS) {
      const limit = new AbortController();
      const cancel = limitMs === null ? () => {} : env.setTimer(() => limit.abort(TIMED_OUT), limitMs);
      const signal = init.signal ? AbortSignal.any([init.signal, limit.signal]) : limit.signal;
      try {
        return await read(path, { ...init, signal });
      } catch (error) {
        throw report.error(error);
      } finally {
        cancel();
      }
    },
  };
}

/** A streamed body is consumed by the first attempt. */
function canRepeat({ body }: RequestInit): boolean {
  return !(body instanceof ReadableStream);
}

/** A failed GET has no effect on the server, so it is OFFLINE instead of UNSURE. */
function toNetworkError(
  cause: unknown,
  url: string,
  { method = "GET", signal }: RequestInit,
  isOnline: boolean,
): ClientError {
  if (signal?.aborted === true && signal.reason !== TIMED_OUT)
    return new ClientError("ABORTED", "The request was cancelled.", { cause, url });
  const options = { cause, url, canRetry: true };
  if (method === "GET" || !isOnline)
    return new ClientError("OFFLINE", "The server can't be reached. Try again later.", options);
  return new ClientError(
    "UNSURE",
    "The connection was lost before the reply. Check whether the command took effect.",
    options,
  );
}

function unreadable(response: Response, message: string, cause: unknown): ClientError {
  const { status, url, headers } = response;
  const requestId = headers.get("x-request-id");
  return new ClientError("SERVER_ERROR", message, { canRetry: true, status, url, requestId, cause });
}

/** Returns the init of a request with a JSON body. */
export function jsonInit(method: string, body: unknown, headers: Record<string, string> = {}): RequestInit {
  return { method, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

/** Credentials and a ticket, requested before every connect. The reply also contains the server's time. */
export interface Ticket {
  readonly credentials: Credentials;
  readonly ticket: string;
  /** The server's clock minus this machine's; null if the server does not send its time. */
  readonly skewMs: number | null;
  /** False if the server reports that it accepts no sockets. */
  readonly hasSockets: boolean;
}

/** @throws ClientError with UNAUTHENTICATED if the server rejects the credentials */
export async function requestTicket(
  api: Api,
  env: Pick<ClientEnv, "now">,
  renew: boolean,
  signal: AbortSignal,
): Promise<Ticket> {
  const { auth } = api;
  if (renew && auth.current !== null) auth.reject(auth.current);
  // Gets the credentials first, so that their delay does not count as network time.
  await auth.get();
  const before = env.now();
  const response = await api.request("/tickets", { method: "POST", signal });
  const after = env.now();
  if (!response.ok) throw await errorFromConnectResponse(response);
  const noTicket = (cause?: unknown): ClientError =>
    unreadable(response, "The server returned no ticket.", cause);
  const body: unknown = await response.json().catch((cause: unknown) => {
    throw noTicket(cause);
  });
  const { ticket, now, channels } = (body ?? {}) as Record<string, unknown>;
  const credentials = auth.current;
  if (typeof ticket !== "string" || credentials === null) throw noTicket();
  const skewMs = typeof now === "number" ? now - Math.round((before + after) / 2) : null;
  const hasSockets = !Array.isArray(channels) || channels.includes("websocket");
  return { credentials, ticket, skewMs, hasSockets };
}
