/**
 * What every request goes through, whichever door it came by: find the route, ask who it is and whether they may, find their
 * session, check query and body, do it, and answer. Never throws, and never tells what it didn't mean to.
 */
import type { IncomingMessage } from "node:http";
import type { ErrorReply } from "@turnstream/protocol/schema";
import { resolveSession, requireScope } from "../auth/access.ts";
import { authenticate } from "../auth/authenticate.ts";
import type { Caller } from "../caller.ts";
import type { ConnectionRegistry } from "../connection/connection-registry.ts";
import { toErrorResponse, RequestError } from "../errors.ts";
import type { EventStreamOptions } from "../sse/event-stream.ts";
import { corsHeaders, PREFLIGHT_HEADERS } from "./cors.ts";
import { parseIdempotencyKey, requestDigest, runIdempotent } from "./idempotency.ts";
import { type HttpResponse, type HttpRequest, SOCKET_PATH } from "./http-messages.ts";
import { asClientAbort, readJsonBody } from "./read-body.ts";
import type { RouteResult, GatewayContext } from "../context.ts";
import type { RouteContext, Route } from "./route.ts";
import type { Router } from "./router.ts";

export interface HttpContext {
  readonly parts: GatewayContext;
  readonly router: Router;
  readonly connections: ConnectionRegistry;
  readonly origins: readonly string[];
  readonly publicUrl: string | undefined;
  readonly addressOf: (incoming: IncomingMessage) => string;
}

/** On every answer: nothing of ours is guessed at, and no address of ours is told on. */
const ALWAYS = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" };
const JSON_HEADERS = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };

/** Who comes by a link that lets itself in. Without a tenant, no query finds anything of theirs. */
const NOBODY = { tenant: "", user: "", scopes: ["nothing"], key: null, expiresAt: null };

export async function handleHttp(door: HttpContext, request: HttpRequest): Promise<HttpResponse> {
  const answer = await answerOf(door, request);
  const cors = corsHeaders(door.origins, request.headers.get("origin"));
  const headers = { ...ALWAYS, ...cors, ...answer.headers };
  if (request.method !== "HEAD") return { ...answer, headers };
  return { ...answer, headers: { ...headers, ...(await leaveOut(answer)) }, body: null };
}

async function answerOf(door: HttpContext, request: HttpRequest): Promise<HttpResponse> {
  try {
    const [path, search] = splitAt(request.url, "?");
    const found = door.router.find(request.method, path);
    if (found.kind === "bad") throw new RequestError("BAD_REQUEST", "The path is not well-formed.");
    if (found.kind === "none" && path === SOCKET_PATH) return upgradeRequired();
    if (found.kind === "none") throw new RequestError("NOT_FOUND", "There is nothing at this address.");
    if (found.kind === "method") return otherMethod(request.method, found.allowed);
    return await handled(door, request, { ...found, search });
  } catch (error) {
    return errorResponse(door.parts, error);
  }
}

/** Who comes here by HTTP has a proxy, or a server before the plain handler, that doesn't pass the upgrade on. */
function upgradeRequired(): HttpResponse {
  const words = "This address is for WebSockets. Whatever stands before the server must pass the upgrade on.";
  const { reply } = toErrorResponse(new RequestError("BAD_REQUEST", words));
  return jsonAnswer(426, reply, { upgrade: "websocket", connection: "upgrade" });
}

function otherMethod(method: string, allowed: readonly string[]): HttpResponse {
  const allow = allowed.join(", ");
  if (method === "OPTIONS") return { status: 204, headers: { allow, ...PREFLIGHT_HEADERS }, body: null };
  const { reply } = toErrorResponse(new RequestError("BAD_REQUEST", `This address takes ${allow}.`));
  return jsonAnswer(405, reply, { allow });
}

/** For whoever can't get as far as `serve`, too. */
export function errorResponse({ onError }: Pick<GatewayContext, "onError">, error: unknown): HttpResponse {
  const { status, reply, isInternal } = toErrorResponse(error);
  if (isInternal) onError(error, "a request");
  return jsonAnswer(status, reply, refusalHeaders(status, reply));
}

function refusalHeaders(status: number, { retry_after_seconds }: ErrorReply): Record<string, string> {
  return {
    ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
    ...(retry_after_seconds === undefined ? {} : { "retry-after": String(retry_after_seconds) }),
  };
}

interface Target {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
  readonly search: string;
}

async function handled(door: HttpContext, request: HttpRequest, target: Target): Promise<HttpResponse> {
  const { parts } = door;
  const { route, params, search } = target;
  const caller = await callerOf(parts, route, request);
  const named = params["session"];
  const ref = named === undefined ? null : await resolveSession(parts, caller, named);
  const query = route.query?.parse(queryOf(search)) ?? {};
  const body =
    route.body === undefined
      ? undefined
      : route.body.parse(await readJsonBody(request, parts.limits.maxBodyBytes));
  const work = async (id?: string) => route.handle(callOf(id));
  const callOf = (id?: string): RouteContext<unknown, unknown> => ({
    parts,
    caller,
    params,
    query,
    body,
    get ref() {
      if (ref === null) throw new TypeError(`${route.path} has no session`);
      return ref;
    },
    headers: request.headers,
    bytes: asClientAbort(request.body),
    get signal() {
      return request.signal;
    },
    newId: () => id ?? parts.env.id(),
  });
  const key = route.idempotent === true ? request.headers.get("idempotency-key") : undefined;
  if (key === undefined) return httpAnswer(caller, await work());
  const session = ref === null ? {} : { session: ref.session };
  const asked = {
    route: `${route.method} ${route.path}`,
    key: parseIdempotencyKey(key),
    digest: requestDigest({ ...params, ...session }, search, body, route.rawBody === true && sizeOf(request)),
    ...session,
  };
  return httpAnswer(caller, await runIdempotent(parts, caller, asked, work));
}

/** Bytes are not read twice: their size and kind stand for them. */
function sizeOf({ headers }: HttpRequest): unknown {
  return [headers.get("content-length"), headers.get("content-type")];
}

async function callerOf(parts: GatewayContext, route: Route, request: HttpRequest): Promise<Caller> {
  if (route.scope === null) return { ...NOBODY, from: request.from };
  const caller = await authenticate(parts, request.headers, request.from);
  requireScope(caller, route.scope);
  return caller;
}

/** Each name once: whoever sends it twice means two things. */
function queryOf(search: string): Record<string, string> {
  const query = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(search)) {
    if (query.has(name)) throw new RequestError("BAD_REQUEST", "The address has the same parameter twice.");
    query.set(name, value);
  }
  return Object.fromEntries(query);
}

function httpAnswer(caller: Caller, answer: RouteResult): HttpResponse {
  if ("json" in answer) return jsonAnswer(answer.status, answer.json, answer.headers);
  if ("jsonText" in answer)
    return {
      status: answer.status,
      headers: { ...JSON_HEADERS, ...answer.headers },
      body: { whole: answer.jsonText },
    };
  if ("stream" in answer) {
    const { status, stream, headers = {} } = answer;
    return { status, headers, body: { stream, caller } };
  }
  if ("bytes" in answer) {
    const { status, headers, bytes } = answer;
    return { status, headers, body: bytes instanceof Uint8Array ? { whole: bytes } : { chunks: bytes } };
  }
  return { status: answer.status, headers: answer.headers ?? {}, body: null };
}

function jsonAnswer(
  status: number,
  json: unknown,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  return { status, headers: { ...JSON_HEADERS, ...headers }, body: { whole: JSON.stringify(json) } };
}

/** @returns what is still told of a body that isn't sent */
async function leaveOut({ body }: HttpResponse): Promise<Record<string, string>> {
  if (body !== null && "chunks" in body) await body.chunks[Symbol.asyncIterator]().return?.();
  if (body === null || !("whole" in body)) return {};
  return { "content-length": String(Buffer.byteLength(body.whole)) };
}

function splitAt(text: string, at: string): [string, string] {
  const n = text.indexOf(at);
  return n < 0 ? [text, ""] : [text.slice(0, n), text.slice(n + 1)];
}

/** What an event stream needs, taken from the door that it is opened at. */
type StreamBody = Extract<NonNullable<HttpResponse["body"]>, { readonly stream: unknown }>;

export function eventStreamOptions(
  { parts, connections }: HttpContext,
  body: StreamBody,
): EventStreamOptions {
  const { limits, env } = parts;
  const random = () => (env.randomBytes(1)[0] ?? 0) / 255;
  return { caller: body.caller, open: body.stream, connections, limits, random };
}
