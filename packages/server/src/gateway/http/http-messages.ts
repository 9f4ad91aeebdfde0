/**
 * `HttpRequest` and `HttpResponse` are the common form of requests and responses for Node servers and the fetch
 * handler. Types, and the constants `API_PREFIX` and `SOCKET_PATH`.
 * Invariant: header names are in lower case, methods in upper case. `url` is the undecoded path after the prefix;
 * only the router decodes it. Both paths are part of the protocol, so clients and PROTOCOL.md use the same ones.
 */
import type { Caller } from "../caller.ts";
import type { StreamHandler } from "../context.ts";

export interface HttpRequest {
  /** In upper case. */
  readonly method: string;
  /** The undecoded path after `/api/v1`, with its query. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: AsyncIterable<Uint8Array>;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** The client's network address. */
  readonly from: string;
  /** False if the host of the fetch handler accepts no WebSockets. */
  readonly hasSockets: boolean;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body:
    | null
    | { readonly whole: string | Uint8Array }
    | { readonly chunks: AsyncIterable<Uint8Array> }
    /** `onClosed` is called once, when the stream has ended or was never started. */
    | { readonly stream: StreamHandler; readonly caller: Caller; readonly onClosed?: () => void };
}

/** The prefix of every API path. */
export const API_PREFIX = "/api/v1";
/** The path of sockets after the prefix. */
export const SOCKET_PATH = "/socket";
