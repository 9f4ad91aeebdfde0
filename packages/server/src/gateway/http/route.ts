/**
 * What a route of the HTTP interface is: definition once, served by Fastify and by the plain handler alike, and listed in the
 * docs. Types only, and the one helper that keeps them together.
 */
import type { z } from "zod";
import type { SessionRef } from "../../store/refs.ts";
import type { Scope } from "../auth/access.ts";
import type { Caller } from "../caller.ts";
import type { GatewayContext, RouteResult } from "../context.ts";

export interface RouteContext<Body, Query> {
  readonly context: GatewayContext;
  readonly caller: Caller;
  /** Of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** The session of the path: there, and the caller's own. Only routes with `{session}` have it; others must not ask. */
  readonly ref: SessionRef;
  /** In lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** Of a route that takes bytes: as they come. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** An id for what is made: the same for a request that is repeated under its `idempotency-key`. Ask once. */
  readonly newId: () => string;
}

export interface Route<Body = unknown, Query = unknown> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Begins after `/api/v1`; `{name}` is a parameter. `/sessions/{session}` is served as `/chats/{session}` as well. */
  readonly path: string;
  /** One line, for the docs. */
  readonly summary: string;
  /** What the caller needs to be allowed; null for the few that let themselves in by what is in their path. */
  readonly scope: Scope | null;
  readonly body?: z.ZodType<Body>;
  readonly query?: z.ZodType<Query>;
  /** What its JSON looks like when it is done. For clients and tests; nothing is held to it on the way out. */
  readonly responseSchema?: z.ZodType;
  /** It takes bytes instead of JSON. */
  readonly rawBody?: boolean;
  /**
   * It creates something: a repeat with the same `idempotency-key` gives the first response again. `itself`: the route does
   * that, because its response can't be stored.
   */
  readonly idempotent?: boolean | "itself";
  handle(routeContext: RouteContext<Body, Query>): Promise<RouteResult>;
}

/** Lets the schemas say what the handler gets. */
export function defineRoute<Body, Query>(definition: Route<Body, Query>): Route {
  return definition;
}
