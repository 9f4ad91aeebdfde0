/**
 * Streamable HTTP by the official client, with what a worker needs beside it: headers that are asked for each time, an
 * end to what a server may send, and an error for a call whose answer was cut off, which would else be waited for.
 */
import {
  type FetchLike,
  isJSONRPCRequest,
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { McpError } from "./errors.ts";
import type { McpHttpOptions } from "./options.ts";
import type { Redactor } from "./redact.ts";

/** Of one answer. */
const MAX_BYTES = 32 * 1024 * 1024;
const CUT_OFF = { code: -32_000, message: "The connection ended before the server answered." };

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];

export class HttpTransport extends StreamableHTTPClientTransport {
  /** Set while an answer of our own is handed in that may come too late. */
  isHandingIn = false;

  constructor(options: McpHttpOptions, redactor: Redactor) {
    super(new URL(options.url), { fetch: fetchWith(options, redactor) });
  }

  override send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    if (Array.isArray(message) || !isJSONRPCRequest(message)) return super.send(message, options);
    const { id } = message;
    return super.send(message, {
      ...options,
      onRequestStreamEnd: () => {
        options?.onRequestStreamEnd?.();
        // An answer that did come is known by now, and this one is then of no request.
        this.isHandingIn = true;
        this.onmessage?.({ jsonrpc: "2.0", id, error: CUT_OFF });
        this.isHandingIn = false;
      },
    });
  }
}

function fetchWith({ headers: given = {} }: McpHttpOptions, redactor: Redactor): FetchLike {
  return async (url, init) => {
    const own = typeof given === "function" ? await given() : given;
    for (const value of Object.values(own)) redactor.add(value);
    const headers = new Headers(own);
    for (const [name, value] of new Headers(init?.headers)) headers.set(name, value);
    const response = await fetch(url, { ...init, headers });
    // The stream of notifications may stay open for days; answers may not.
    return init?.method === "POST" ? bounded(response) : response;
  };
}

function bounded(response: Response): Response {
  if (response.body === null) return response;
  let size = 0;
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, out) {
        size += chunk.byteLength;
        if (size > MAX_BYTES)
          out.error(new McpError("TOO_LARGE", `an answer of more than ${MAX_BYTES} bytes`));
        else out.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(counted, { status, statusText, headers });
}
