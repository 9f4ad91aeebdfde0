/**
 * `safeFetch` fetches a URL from an untrusted source, such as a user, a model or a web page.
 * Invariant: it refuses internal addresses before it connects, by the resolved address, and checks every redirect
 * again. A redirect to another origin never gets the body or a header that may contain a key. Size, time, redirects
 * and decompression are limited. It uses no proxy from the environment, and reuses no connections or cookies. The body
 * must be read or canceled, because that ends the connection.
 */
import { buffer } from "node:stream/consumers";
import { Agent, type Dispatcher } from "undici";
import { checkUrl, type CheckedUrl } from "./check-url.ts";
import { FetchError } from "./errors.ts";
import { guardedLookup } from "./guarded-lookup.ts";
import { FetchLifetime } from "./fetch-lifetime.ts";
import { type FetchPolicy, withDefaults, type ResolvedFetchPolicy } from "./policy.ts";
import { decompress } from "./decompress.ts";

/** Larger response headers fail with `BAD_RESPONSE`. */
const MAX_HEADER_BYTES = 16_384;

export interface SafeFetchOptions {
  readonly policy: FetchPolicy;
  readonly signal: AbortSignal;
  readonly method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Lowers the limit of the policy for this fetch. A higher value has no effect. */
  readonly maxBytes?: number;
  /** Decides about each redirect, in addition to the policy. If it returns false, the fetch fails with `BLOCKED`. */
  readonly mayFollow?: (url: string) => boolean;
}

export interface SafeResponse {
  readonly status: number;
  /** The URL after all redirects. */
  readonly url: string;
  /** By lower-case name. Repeated headers are joined with ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** The media type from `content-type`, without parameters; "" if the header is missing. */
  readonly mediaType: string;
  /** The decompressed bytes. Reading them can throw a FetchError. Read them once, or call `cancel`. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Reads the whole body. */
  bytes(): Promise<Uint8Array>;
  cancel(): void;
}

interface Hop {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
}

/**
 * @returns the response of any status, including failures
 * @throws FetchError, or the reason of the signal if it is aborted
 */
export async function safeFetch(url: string, options: SafeFetchOptions): Promise<SafeResponse> {
  const policy = withDefaults(options.policy);
  const life = new FetchLifetime(options.signal, policy.timeoutMs);
  try {
    let target = checkUrl(url, policy);
    const { method = "GET", headers = {}, body = null } = options;
    let hop: Hop = { method, headers, body };
    for (let redirects = 0; ; redirects++) {
      const answer = await request(target, hop, policy, life);
      const location = redirectOf(answer);
      if (location === null) {
        const maxBytes = Math.min(policy.maxBytes, options.maxBytes ?? Infinity);
        return responseOf(target, answer, hop, maxBytes, life);
      }
      life.closeAgent();
      if (redirects >= policy.maxRedirects) throw new FetchError("TOO_MANY_REDIRECTS");
      const next = checkUrl(location, policy, target.url);
      if (options.mayFollow?.(next.url.href) === false) throw new FetchError("BLOCKED");
      hop = nextHop(hop, answer.statusCode, next.url.origin === target.url.origin);
      target = next;
    }
  } catch (error) {
    throw life.end(error);
  }
}

async function request(
  { url, isAllowed }: CheckedUrl,
  { method, headers, body }: Hop,
  policy: ResolvedFetchPolicy,
  life: FetchLifetime,
): Promise<Dispatcher.ResponseData> {
  const agent = life.openAgent(
    new Agent({
      connect: { lookup: guardedLookup(policy.lookup, isAllowed), timeout: policy.idleMs },
      headersTimeout: policy.idleMs,
      bodyTimeout: policy.idleMs,
      maxHeaderSize: MAX_HEADER_BYTES,
      pipelining: 1,
      connections: 1,
      allowH2: false,
    }),
  );
  const answer = await agent.request({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method,
    headers: headersFor(headers, policy.userAgent),
    body,
    signal: life.signal,
  });
  // Without a listener, an error after the caller has dropped the body would terminate the process.
  answer.body.on("error", () => undefined);
  return answer;
}

function redirectOf({ statusCode, headers }: Dispatcher.ResponseData): string | null {
  const { location } = headers;
  if (![301, 302, 303, 307, 308].includes(statusCode) || location === undefined) return null;
  if (typeof location !== "string") throw new FetchError("BAD_RESPONSE");
  return location;
}

function nextHop(hop: Hop, status: number, isSameOrigin: boolean): Hop {
  const turnsToGet = status === 303 || (status < 303 && hop.method === "POST");
  const next = turnsToGet && hop.method !== "HEAD" ? { ...hop, method: "GET", body: null } : hop;
  if (isSameOrigin) return next;
  // The body was meant for the original server only.
  if (next.body !== null) throw new FetchError("BLOCKED");
  return { ...next, headers: withoutCredentials(next.headers) };
}

function responseOf(
  { url }: CheckedUrl,
  answer: Dispatcher.ResponseData,
  { method }: Hop,
  maxBytes: number,
  life: FetchLifetime,
): SafeResponse {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(answer.headers))
    if (value !== undefined) headers[name] = typeof value === "string" ? value : value.join(", ");
  const declaredBytes = Number(headers["content-length"] ?? 0);
  if (method !== "HEAD" && declaredBytes > maxBytes) throw new FetchError("TOO_LARGE");
  const isEmpty = method === "HEAD" || answer.statusCode === 204 || answer.statusCode === 304;
  const encoding = isEmpty ? "" : (headers["content-encoding"] ?? "");
  const body = whole(life, decompress(answer.body, encoding, maxBytes));
  return {
    status: answer.statusCode,
    url: url.href,
    headers,
    mediaType: (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "",
    body,
    bytes: () => buffer(body),
    cancel: () => void life.end(),
  };
}

async function* whole(life: FetchLifetime, bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* bytes;
  } catch (error) {
    throw life.end(error);
  } finally {
    life.end();
  }
}

/** Headers that belong to the connection. The caller can't set them. */
const OURS =
  /^(host|connection|keep-alive|upgrade|te|trailer|transfer-encoding|content-length|expect|accept-encoding|proxy-.*)$/;

/** Headers without credentials. Any other header may contain a key, so it is not sent to another origin. */
const HARMLESS = /^(accept|accept-language|user-agent)$/;

function headersFor(given: Readonly<Record<string, string>>, userAgent: string): Record<string, string> {
  const headers: Record<string, string> = { "user-agent": userAgent, accept: "*/*" };
  for (const [name, value] of Object.entries(given))
    if (!OURS.test(name.toLowerCase())) headers[name.toLowerCase()] = value;
  headers["accept-encoding"] = "gzip, deflate, br";
  return headers;
}

function withoutCredentials(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => HARMLESS.test(name.toLowerCase())));
}
