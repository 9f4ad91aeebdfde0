/** An HTTP request and its answer, as both front doors see them. Types only. */
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
  /** The client has left. */
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

/** Where the interface is: every path begins with it. */
export const API_PREFIX = "/api/v1";
/** Behind it: where sockets are opened. */
export const SOCKET_PATH = "/socket";
