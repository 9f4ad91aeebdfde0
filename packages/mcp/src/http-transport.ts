/**
 * `HttpTransport` extends the official Streamable HTTP client.
 * Invariant: headers are resolved for each request and registered as secrets before it is sent; the client's own
 * headers take precedence. They are sent to the configured origin only, and redirects are refused. A response has at
 * most 32 MiB. The notification stream stays open, so there each event has at most 10 MiB. A call whose response stream
 * ends early fails, because it would otherwise stay pending forever.
 */
import {
  type FetchLike,
  isJSONRPCRequest,
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { McpError } from "./errors.ts";
import { limitBytes, limitEvents } from "./event-limit.ts";
import type { McpHttpOptions } from "./options.ts";
import type { Redactor } from "./redact.ts";

/** Maximum size of one response. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Maximum size of one event of the notification stream, and of one message over stdio. */
export const MAX_EVENT_BYTES = 10 * 1024 * 1024;
/** Limits for the delay after which the notification stream is opened again. A server can ask for any. */
const MIN_RECONNECT_MS = 1_000;
const MAX_RECONNECT_MS = 30_000;
const CUT_OFF = { code: -32_000, message: "The connection ended before the server answered." };

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];

export class HttpTransport extends StreamableHTTPClientTransport {
  /**
   * True while a synthetic error response is delivered. The client reports it as unexpected if the real one already
   * arrived.
   */
  isHandingIn = false;

  constructor(options: McpHttpOptions, redactor: Redactor) {
    super(new URL(options.url), {
      fetch: fetchWith(options, redactor),
      reconnectionScheduler(reconnect, delayMs) {
        const ms = Math.min(Math.max(delayMs, MIN_RECONNECT_MS), MAX_RECONNECT_MS);
        const timer = setTimeout(reconnect, ms);
        return () => clearTimeout(timer);
      },
    });
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

function fetchWith({ url: server, headers: given = {} }: McpHttpOptions, redactor: Redactor): FetchLike {
  const { origin } = new URL(server);
  return async (url, init) => {
    if (new URL(url).origin !== origin)
      throw new McpError("OTHER_ORIGIN", "a request to another origin than that of the server was refused");
    const own = typeof given === "function" ? await given() : given;
    for (const value of Object.values(own)) redactor.add(value);
    const headers = new Headers(own);
    for (const [name, value] of new Headers(init?.headers)) headers.set(name, value);
    // A redirect would send the headers to whatever address the server names.
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      throw new McpError("OTHER_ORIGIN", `the server answered with a redirect (${response.status})`);
    }
    return limited(response, init?.method);
  };
}

/** The notification stream may stay open for days, so only its events are limited. */
function limited(response: Response, method: string | undefined): Response {
  if (response.body === null) return response;
  const isStream = response.ok && method === "GET";
  const body = response.body.pipeThrough(isStream ? limitEvents(MAX_EVENT_BYTES) : limitBytes(MAX_BYTES));
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}
