/**
 * `fromNodeRequest` converts a request of Node's HTTP server to an `HttpRequest`.
 * Invariant: reading the body partly never destroys the connection, because the response still needs it. After the
 * response, the rest of the body is discarded for at most 5 seconds. The signal aborts only if the client disconnects
 * before the response is complete. It is created on demand, so that event streams don't retain it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpRequest } from "./http-messages.ts";

/** @param url the path after `/api/v1` */
export function fromNodeRequest(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { url, from }: { readonly url: string; readonly from: string },
): HttpRequest {
  let signal: AbortSignal | null = null;
  outgoing.once("finish", () => discardRest(incoming));
  return {
    method: incoming.method ?? "GET",
    url,
    headers: nodeHeaders(incoming),
    // A route may leave the rest unread, and the response still needs the connection.
    body: { [Symbol.asyncIterator]: () => incoming.iterator({ destroyOnReturn: false }) },
    /** Created on demand: few routes use it, and an event stream would retain it for its whole lifetime. */
    get signal() {
      signal ??= createDisconnectSignal(outgoing);
      return signal;
    },
    from,
    hasSockets: true,
  };
}

function createDisconnectSignal(outgoing: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (outgoing.destroyed && !outgoing.writableFinished) controller.abort();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) controller.abort();
  });
  return controller.signal;
}

/**
 * How long a client may continue to send a body that is not read. It must suffice for the client to read the response.
 */
const DISCARD_TIMEOUT_MS = 5_000;

/** Reads and discards the rest of the body, because the next request on this connection follows it. */
function discardRest(incoming: IncomingMessage): void {
  if (incoming.complete) return;
  incoming.resume();
  const timer = setTimeout(() => {
    if (!incoming.complete) incoming.destroy();
  }, DISCARD_TIMEOUT_MS);
  timer.unref();
}

export function nodeHeaders({ headers }: Pick<IncomingMessage, "headers">): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  for (const [name, value] of Object.entries(headers))
    // HTTP/2 has the method and the path among the headers.
    if (value !== undefined && !name.startsWith(":"))
      map.set(name, typeof value === "string" ? value : value.join(", "));
  return map;
}
