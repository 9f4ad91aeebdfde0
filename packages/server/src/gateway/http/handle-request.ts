/**
 * `handleHttp` handles every request, of Node servers and of the fetch handler.
 * Invariant: first it finds the route, authenticates, checks the scope and the limits, and resolves the session. Only then it reads
 * and validates query and body, and runs the route. So a client without access can't make the server read a body. It
 * never throws and never exposes an internal error. Every response has the security headers and the id of its request,
 * which the report of an internal error names too.
 */
import type { IncomingMessage } from "node:http";
import { z } from "zod";
import type { ErrorReply } from "@turnstream/protocol/schema";
import { resolveSession, requireScope } from "../auth/access.ts";
import { authenticate } from "../auth/authenticate.ts";
import { authenticateByTicket } from "../auth/tickets.ts";
import type { Caller } from "../caller.ts";
import type { ConnectionRegistry } from "../connection/connection-registry.ts";
import { toErrorResponse, RequestError } from "../errors.ts";
import type { EventStreamOptions } from "../sse/event-stream.ts";
import { corsHeaders, isAllowedOrigin, PREFLIGHT_HEADERS } from "./cors.ts";
import { parseIdempotencyKey, requestDigest, runIdempotent } from "./idempotency.ts";
import { type HttpResponse, type HttpRequest, SOCKET_PATH } from "./http-messages.ts";
import { asClientAbort, readJsonBody } from "./read-body.ts";
import { isStoreError } from "../../store/errors.ts";
import { defined } from "../../util/defined.ts";
import { runAs } from "../../util/work-owner.ts";
import type { RouteResult, GatewayContext } from "../context.ts";
import { type GatewayLimits, MAX_COMMAND_BYTES } from "../gateway-limits.ts";
import type { Route } from "./route.ts";
import type { Router } from "./router.ts";

export interface HttpContext {
  readonly context: GatewayContext;
  readonly router: Router;
  readonly connections: ConnectionRegistry;
  readonly origins: readonly string[];
  readonly publicUrl: string | undefined;
  readonly resolveClientAddress: (incoming: IncomingMessage) => string;
}

/** Security headers for every response: no MIME sniffing, no referrer. */
const SECURITY_HEADERS = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" };
const JSON_HEADERS = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };

/** Refuses every parameter of a route that declares none, because an ignored parameter hides a mistake. */
const NO_QUERY = z.strictObject({});

/** The caller of a route without a scope. Without a tenant, no query returns data. */
const ANONYMOUS = { tenant: "", user: "", scopes: ["nothing"], key: null, expiresAt: null, clientId: "" };

export async function handleHttp(http: HttpContext, request: HttpRequest): Promise<HttpResponse> {
  if (isOfScript(request.headers))
    isFromAllowedOrigin(http, request.headers, { from: request.from, reason: "request" });
  const requestId = readRequestId(request.headers) ?? http.context.env.id();
  const response = await respond(http, request, requestId);
  const cors = corsHeaders(http.origins, request.headers.get("origin"));
  const headers = { ...SECURITY_HEADERS, "x-request-id": requestId, ...cors, ...response.headers };
  if (request.method !== "HEAD") return { ...response, headers };
  return { ...response, headers: { ...headers, ...(await headHeaders(response)) }, body: null };
}

/** Returns the id that a proxy gave to the request; undefined if it has none, or not a plain one. */
function readRequestId(headers: ReadonlyMap<string, string>): string | undefined {
  return /^[\w.:=+/-]{1,128}$/.exec(headers.get("x-request-id") ?? "")?.[0];
}

async function respond(http: HttpContext, request: HttpRequest, requestId: string): Promise<HttpResponse> {
  try {
    const [path, search] = splitAt(request.url, "?");
    const found = http.router.find(request.method, path);
    if (found.kind === "bad") throw new RequestError("BAD_REQUEST", "The path is malformed.");
    if (found.kind === "none" && path === SOCKET_PATH) return upgradeRequired();
    if (found.kind === "none") throw new RequestError("NOT_FOUND", "No route matches this path.");
    if (found.kind === "method") return methodNotAllowed(request.method, found.allowed);
    return await handleRoute(http, request, { ...found, search });
  } catch (error) {
    return errorResponse(http.context, error, `request ${requestId}`);
  }
}

/**
 * The response to a plain request at the socket path. It means that a proxy, or the server around the fetch handler,
 * does not forward upgrades.
 */
function upgradeRequired(): HttpResponse {
  const message =
    "This path accepts WebSockets only. Proxies in front of the server must forward the upgrade.";
  const { reply } = toErrorResponse(new RequestError("BAD_REQUEST", message));
  return jsonResponse(426, reply, { upgrade: "websocket", connection: "upgrade" });
}

function methodNotAllowed(method: string, allowed: readonly string[]): HttpResponse {
  const allow = allowed.join(", ");
  if (method === "OPTIONS") return { status: 204, headers: { allow, ...PREFLIGHT_HEADERS }, body: null };
  const { reply } = toErrorResponse(new RequestError("BAD_REQUEST", `This path accepts only ${allow}.`));
  return jsonResponse(405, reply, { allow });
}

/** Also used for errors before `handleHttp` is reached. */
export function errorResponse(
  { onError }: Pick<GatewayContext, "onError">,
  error: unknown,
  during = "a request",
): HttpResponse {
  const { status, reply, isInternal } = toErrorResponse(error);
  if (isInternal) onError(error, { during });
  return jsonResponse(status, reply, errorHeaders(status, reply));
}

function errorHeaders(status: number, { retry_after_seconds }: ErrorReply): Record<string, string> {
  return defined({
    "www-authenticate": status === 401 ? "Bearer" : undefined,
    "retry-after": retry_after_seconds?.toString(),
  });
}

interface RouteMatch {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
  readonly search: string;
}

async function handleRoute(
  http: HttpContext,
  request: HttpRequest,
  match: RouteMatch,
): Promise<HttpResponse> {
  const caller = await authenticateCaller(http, request, match);
  const { tenant } = caller;
  // Callers without a tenant take turns by their addresses.
  return runAs({ tenant, user: tenant === "" ? request.from : caller.user }, async () => {
    const release = await countRequest(http.context, caller, match.route);
    try {
      const response = await runRoute(http, request, match, caller);
      const { body } = response;
      // A stream counts as open until it ends.
      if (body !== null && "stream" in body && request.method !== "HEAD")
        return { ...response, body: { ...body, onClosed: release } };
      release();
      return response;
    } catch (error) {
      release();
      throw await explainMissingTenant(http.context, caller, error);
    }
  });
}

/** @returns the function that counts the stream of the route as closed */
async function countRequest(
  { limiter }: GatewayContext,
  caller: Caller,
  { scope, opensStream = false, isUrgent = scope === "decide" }: Route,
): Promise<() => void> {
  if (scope !== null)
    return limiter.countRequest(caller, { isUrgent, opens: opensStream ? "streams" : null });
  await limiter.countAnonymous(caller.from);
  return () => undefined;
}

/** Nothing can be stored for a tenant that doesn't exist, and the error of the store names only what was stored. */
async function explainMissingTenant(
  { store, reportOnce }: GatewayContext,
  { tenant }: Caller,
  error: unknown,
): Promise<unknown> {
  if (!isStoreError(error, "NOT_FOUND") || tenant === "" || (await store.tenants.get(tenant)) !== null)
    return error;
  const problem = `There is no tenant ${JSON.stringify(tenant)}. Create it with \`store.tenants.create\`, or with \`turnstream keys create --new-tenant\`.`;
  reportOnce(problem, "a request");
  return new RequestError("NOT_FOUND", problem);
}

async function runRoute(
  http: HttpContext,
  request: HttpRequest,
  { route, params, search }: RouteMatch,
  caller: Caller,
): Promise<HttpResponse> {
  const { context } = http;
  const named = params["session"];
  const ref = named === undefined ? null : await resolveSession(context, caller, named);
  const query = (route.query ?? NO_QUERY).parse(route.ignoresQuery === true ? {} : parseQuery(search));
  const body =
    route.body === undefined
      ? undefined
      : route.body.parse(await readJsonBody(request, maxBodyBytesOf(route, context.limits)));
  const work = async (id?: string) =>
    route.handle({
      context,
      caller,
      params,
      query,
      body,
      get ref() {
        if (ref === null) throw new TypeError(`${route.path} has no {session} parameter`);
        return ref;
      },
      headers: request.headers,
      isHead: request.method === "HEAD",
      hasSockets: request.hasSockets,
      bytes: asClientAbort(request.body),
      get signal() {
        return request.signal;
      },
      newId: () => id ?? context.env.id(),
    });
  const key = route.idempotent === true ? request.headers.get("idempotency-key") : undefined;
  if (key === undefined) return toHttpResponse(caller, await work());
  const session = ref === null ? {} : { session: ref.session };
  const idempotentRequest = {
    route: `${route.method} ${route.path}`,
    key: parseIdempotencyKey(key),
    digest: requestDigest({ ...params, ...session }, search, body),
    ...session,
  };
  return toHttpResponse(caller, await runIdempotent(context, caller, idempotentRequest, work));
}

/** Only messages and knowledge imports are long. */
function maxBodyBytesOf({ hasLargeBody = false }: Route, limits: GatewayLimits): number {
  const { maxBodyBytes } = limits;
  return hasLargeBody ? maxBodyBytes : Math.min(maxBodyBytes, MAX_COMMAND_BYTES);
}

async function authenticateCaller(
  http: HttpContext,
  request: HttpRequest,
  { route, search }: RouteMatch,
): Promise<Caller> {
  const { headers, from } = request;
  const { limiter } = http.context;
  if (route.scope === null) return { ...ANONYMOUS, from };
  const { ticket } = route.acceptsTicket === true ? parseQuery(search) : {};
  if (ticket !== undefined) requireAllowedOrigin(http, request);
  const caller = await limiter.guardSignIn({ from, isGuessable: headers.has("x-api-key") }, () =>
    ticket === undefined
      ? authenticate(http.context, headers, from)
      : authenticateByTicket(http.context, ticket, headers, from),
  );
  requireScope(caller, route.scope);
  return caller;
}

/** Browsers send no origin with an `EventSource` of the same origin. With one, the page must be allowed to read. */
function requireAllowedOrigin(http: HttpContext, { headers, from }: HttpRequest): void {
  // `handleHttp` has reported the origin of a script already.
  const isAllowed = isOfScript(headers)
    ? isOriginAllowed(http, headers)
    : isFromAllowedOrigin(http, headers, { from, reason: "request" });
  if (!isAllowed)
    throw new RequestError("FORBIDDEN", "Pages of this origin may not open event streams here.");
}

/**
 * Returns true if a script of another origin may have sent the request. The browser then hides the response, and the
 * operator learns the reason only from the server. A page of another service that sends the user back is no script.
 */
function isOfScript(headers: HttpRequest["headers"]): boolean {
  return headers.get("sec-fetch-site") !== "same-origin" && headers.get("sec-fetch-mode") !== "navigate";
}

const MAX_ORIGIN_LENGTH = 100;

/** Returns true for a request of no page. Reports an origin that is not allowed to the operator. */
export function isFromAllowedOrigin(
  http: HttpContext,
  headers: ReadonlyMap<string, string>,
  { from, reason }: { readonly from: string; readonly reason: "request" | "socket" },
): boolean {
  if (isOriginAllowed(http, headers)) return true;
  const { context } = http;
  const origin = (headers.get("origin") ?? "").slice(0, MAX_ORIGIN_LENGTH);
  context.reportSecurityEvent({ type: "origin_refused", reason, subject: origin }, from);
  context.reportOnce(
    `Pages of the origin ${JSON.stringify(origin)} may not use this gateway. Add it to the option \`allowedOrigins\` of the gateway.`,
    "a request of a page",
  );
  return false;
}

function isOriginAllowed({ origins, publicUrl }: HttpContext, headers: ReadonlyMap<string, string>): boolean {
  const origin = headers.get("origin");
  return origin === undefined || isAllowedOrigin(origin, { origins, publicUrl, host: headers.get("host") });
}

/** A repeated parameter is rejected, because it would be ambiguous. */
function parseQuery(search: string): Readonly<Partial<Record<string, string>>> {
  const query = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(search)) {
    if (query.has(name)) throw new RequestError("BAD_REQUEST", "The query has the same parameter twice.");
    query.set(name, value);
  }
  return Object.fromEntries(query);
}

function toHttpResponse(caller: Caller, result: RouteResult): HttpResponse {
  if ("json" in result) return jsonResponse(result.status, result.json, result.headers);
  if ("jsonText" in result)
    return {
      status: result.status,
      headers: { ...JSON_HEADERS, ...result.headers },
      body: { whole: result.jsonText },
    };
  if ("stream" in result) {
    const { status, stream, headers = {} } = result;
    return { status, headers, body: { stream, caller } };
  }
  if ("bytes" in result) {
    const { status, headers, bytes } = result;
    return { status, headers, body: bytes instanceof Uint8Array ? { whole: bytes } : { chunks: bytes } };
  }
  return { status: result.status, headers: result.headers ?? {}, body: null };
}

export function jsonResponse(
  status: number,
  json: unknown,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  return { status, headers: { ...JSON_HEADERS, ...headers }, body: { whole: JSON.stringify(json) } };
}

/** @returns the headers that describe the omitted body */
async function headHeaders({ body }: HttpResponse): Promise<Record<string, string>> {
  if (body !== null && "chunks" in body) await body.chunks[Symbol.asyncIterator]().return?.();
  if (body === null || !("whole" in body)) return {};
  return { "content-length": String(Buffer.byteLength(body.whole)) };
}

function splitAt(text: string, at: string): [string, string] {
  const n = text.indexOf(at);
  return n < 0 ? [text, ""] : [text.slice(0, n), text.slice(n + 1)];
}

type StreamBody = Extract<NonNullable<HttpResponse["body"]>, { readonly stream: unknown }>;

export function eventStreamOptions(
  { context, connections }: HttpContext,
  body: StreamBody,
): EventStreamOptions {
  const { limits, env } = context;
  const random = () => (env.randomBytes(1)[0] ?? 0) / 255;
  const { caller, stream, onClosed = () => undefined } = body;
  const open: EventStreamOptions["open"] = (sink) => runAs(caller, () => stream(sink));
  return { caller, open, onClosed, connections, limits, random };
}
