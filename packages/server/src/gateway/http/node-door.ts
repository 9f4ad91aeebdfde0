/** Requests of Node's own HTTP server, and answers to them. Used by the Fastify plugin. Decides nothing. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpRequest } from "./message.ts";

/** @param url behind `/api/v1` */
export function nodeRequest(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { url, from }: { readonly url: string; readonly from: string },
): HttpRequest {
  const left = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) left.abort();
  });
  return {
    method: incoming.method ?? "GET",
    url,
    headers: nodeHeaders(incoming),
    body: incoming,
    signal: left.signal,
    from,
  };
}

export function nodeHeaders({ headers }: Pick<IncomingMessage, "headers">): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) map.set(name, typeof value === "string" ? value : value.join(", "));
  return map;
}
