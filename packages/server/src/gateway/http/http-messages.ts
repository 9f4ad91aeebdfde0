/** `HttpRequest` and `HttpResponse`: the same for Fastify and for the plain handler. */
import type { Caller } from "../caller.ts";
import type { StreamHandler } from "../context.ts";

export interface HttpRequest {
  /** In upper case. */
  readonly method: string;
  /** Behind `/api/v1`, as it was sent, with its query. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: AsyncIterable<Uint8Array>;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** The address of the client. */
  readonly from: string;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body:
    | null
    | { readonly whole: string | Uint8Array }
    | { readonly chunks: AsyncIterable<Uint8Array> }
    | { readonly stream: StreamHandler; readonly caller: Caller };
}

/** Every path of the API starts with it. */
export const API_PREFIX = "/api/v1";
/** Behind it: the path of sockets. */
export const SOCKET_PATH = "/socket";
