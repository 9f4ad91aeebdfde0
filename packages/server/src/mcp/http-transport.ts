/**
 * `HttpTransport` extends the official Streamable HTTP client.
 * Invariant: headers are resolved for each request and registered as secrets before it is sent; the client's own
 * headers take precedence. A response to a POST has at most 32 MiB; the notification stream is not limited. A call
 * whose response stream ends early fails, because it would otherwise stay pending forever.
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

/** Maximum size of one response. */
const MAX_BYTES = 32 * 1024 * 1024;
const CUT_OFF = { code: -32_000, message: "The connection ended before the server answered." };

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];

export class HttpTransport extends StreamableHTTPClientTransport {
  /**
   * True while a synthetic error response is delivered. The client reports it as unexpected if the real one already
   * arrived.
   */
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
        // If the real response has arrived, the client ignores this one, because its request is no longer pending.
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
    // Only responses to calls are limited. The notification stream may stay open for days.
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
          out.error(new McpError("TOO_LARGE", `a response of more than ${MAX_BYTES} bytes`));
        else out.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(counted, { status, statusText, headers });
}
