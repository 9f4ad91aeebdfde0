/** Requests of Node's own HTTP server, and answers to them. Used by the Fastify plugin. Decides nothing. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpRequest } from "./http-messages.ts";

/** @param url behind `/api/v1` */
export function fromNodeRequest(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { url, from }: { readonly url: string; readonly from: string },
): HttpRequest {
  let signal: AbortSignal | null = null;
  outgoing.once("finish", () => leaveRest(incoming));
  return {
    method: incoming.method ?? "GET",
    url,
    headers: nodeHeaders(incoming),
    // Who has read enough leaves the rest: the answer still has to go out over the same connection.
    body: { [Symbol.asyncIterator]: () => incoming.iterator({ destroyOnReturn: false }) },
    /** Few routes ask, and an event stream would hold it as long as it lasts. */
    get signal() {
      signal ??= leftSignal(outgoing);
      return signal;
    },
    from,
  };
}

function leftSignal(outgoing: ServerResponse): AbortSignal {
  const left = new AbortController();
  if (outgoing.destroyed && !outgoing.writableFinished) left.abort();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) left.abort();
  });
  return left.signal;
}

/** How long somebody may go on sending what nobody reads: long enough that they have read the answer. */
const REST_MS = 5_000;

/** The next request on this connection comes after the rest of this one. */
function leaveRest(incoming: IncomingMessage): void {
  if (incoming.complete) return;
  incoming.resume();
  const timer = setTimeout(() => {
    if (!incoming.complete) incoming.destroy();
  }, REST_MS);
  timer.unref();
}

export function nodeHeaders({ headers }: Pick<IncomingMessage, "headers">): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) map.set(name, typeof value === "string" ? value : value.join(", "));
  return map;
}
