/**
 * `attachTo` serves a Node server, before the app that it belongs to: the requests and sockets under the API's path are
 * the gateway's, all others go to the app as before.
 * Invariant: the app sees no request of the gateway, so none of its parsers has read a body. Only the plain spelling of
 * the path is served. A socket for another path is rejected only if nothing else listens for it.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Server } from "node:net";
import type { Duplex } from "node:stream";
import { RequestError } from "../errors.ts";
import { startEventStream } from "../sse/event-stream.ts";
import { type HandleUpgrade, rejectUpgrade } from "../ws/upgrade.ts";
import { errorResponse, eventStreamOptions, handleHttp, type HttpContext } from "./handle-request.ts";
import { API_PREFIX } from "./http-messages.ts";
import { fromNodeRequest } from "./node-request.ts";
import { answerSafely, sendResponse } from "./send-response.ts";

/** @param prefix the path before `/api/v1` */
export function attachTo(
  server: Server,
  http: HttpContext,
  handleUpgrade: HandleUpgrade,
  prefix: string,
): void {
  if (!/^(\/[^/]+)*$/.test(prefix))
    throw new TypeError(`The prefix must be empty or like /chat, got ${JSON.stringify(prefix)}.`);
  const base = `${prefix}${API_PREFIX}`;
  const others = server.listeners("request") as RequestListener[];
  const none = new RequestError("NOT_FOUND", `No route matches this path: all routes are under ${base}.`);
  server.removeAllListeners("request");
  server.on("request", (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { url = "/" } = incoming;
    const respond = (work: () => Promise<void>) => void answerSafely(outgoing, http.context.onError, work);
    if (url.startsWith(`${base}/`)) respond(() => answer(http, incoming, outgoing, url.slice(base.length)));
    else if (others.length === 0 && server.listenerCount("request") === 1)
      respond(() => sendResponse(outgoing, errorResponse(http.context, none)));
    else for (const other of others) Reflect.apply(other, server, [incoming, outgoing]);
  });
  server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    const isOurs = handleUpgrade({ incoming, socket, head }, prefix);
    if (isOurs || server.listenerCount("upgrade") > 1) return;
    rejectUpgrade(http, socket, new RequestError("NOT_FOUND", "This path does not accept sockets."));
  });
}

async function answer(
  http: HttpContext,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  url: string,
): Promise<void> {
  const from = http.resolveClientAddress(incoming);
  const response = await handleHttp(http, fromNodeRequest(incoming, outgoing, { url, from }));
  const { status, headers, body } = response;
  if (body === null || !("stream" in body)) return sendResponse(outgoing, response);
  startEventStream(outgoing, { status, headers }, eventStreamOptions(http, body));
}
