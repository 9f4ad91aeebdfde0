/**
 * `Route` defines one HTTP route, for Node servers and the fetch handler alike. `defineRoute` infers its types.
 * Invariant: a handler runs only after `handleHttp` has checked scope, ownership, query and body. So `ref` exists and
 * belongs to the caller. Responses are not validated at runtime.
 */
import type { z } from "zod";
import type { SessionRef } from "../../util/refs.ts";
import type { Scope } from "../auth/access.ts";
import type { Caller } from "../caller.ts";
import type { GatewayContext, RouteResult } from "../context.ts";

export interface RouteContext<Body, Query> {
  readonly context: GatewayContext;
  readonly caller: Caller;
  /** Decoded path parameters. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** The session in the path. It exists and belongs to the caller. Throws for routes without `{session}`. */
  readonly ref: SessionRef;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** True for a HEAD request, which is served like GET. */
  readonly isHead: boolean;
  /** False if the server accepts no WebSockets. */
  readonly hasSockets: boolean;
  /** The body of a `rawBody` route as a stream. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /**
   * Returns the id for a new object. A request that is repeated with its `idempotency-key` gets the same id. Call it
   * once.
   */
  readonly newId: () => string;
}

export interface Route<Body = unknown, Query = unknown> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path after `/api/v1`; `{name}` is a parameter. `/sessions/{session}` is also served as `/chats/{session}`. */
  readonly path: string;
  /** One line for the docs. */
  readonly summary: string;
  /** The scope that the caller needs; null if a token in the path or a signature of the body authorizes the request. */
  readonly scope: Scope | null;
  readonly body?: z.ZodType<Body>;
  /** True accepts a body of `maxBodyBytes`. @default false (`MAX_COMMAND_BYTES`) */
  readonly hasLargeBody?: boolean;
  readonly query?: z.ZodType<Query>;
  /** True accepts any query, for addresses to which browsers and other servers add parameters. */
  readonly ignoresQuery?: boolean;
  /** True accepts a ticket in the query, for an `EventSource`, which can't send headers. */
  readonly acceptsTicket?: boolean;
  /** Schema of the JSON of a successful response. For clients and tests; responses are not validated at runtime. */
  readonly responseSchema?: z.ZodType;
  /** True for a route that keeps its connection open until a turn ends or the client leaves. */
  readonly opensStream?: boolean;
  /**
   * True for a route that ends work. It has counters of its own, so that a user who has reached a limit can still stop a
   * turn. Routes with the scope `decide` are urgent too.
   */
  readonly isUrgent?: boolean;
  /** The route takes bytes instead of JSON. */
  readonly rawBody?: boolean;
  /**
   * True for routes that create something: a repeated `idempotency-key` returns the first response. `itself`: the route
   * implements that, because its response can't be stored.
   */
  readonly idempotent?: boolean | "itself";
  handle(routeContext: RouteContext<Body, Query>): Promise<RouteResult>;
}

/** Infers the handler's types from the schemas. */
export function defineRoute<Body, Query>(definition: Route<Body, Query>): Route {
  return definition;
}
