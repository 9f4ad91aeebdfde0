/**
 * `sendResponse` and `sendPage` write a response to a client of a Node server, and `answerSafely` reports what fails.
 * Invariant: no failure terminates the process or leaves a request without an answer: before the first byte it
 * becomes an error response, later it ends the connection. A source is closed if its client has disconnected.
 */
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ErrorHandler } from "../../util/error-handler.ts";
import { errorResponse } from "./handle-request.ts";
import type { HttpResponse } from "./http-messages.ts";

/** @param work sends the response */
export async function answerSafely(
  outgoing: ServerResponse,
  onError: ErrorHandler,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const report = quiet(onError);
    if (outgoing.headersSent) {
      if (!isDisconnect(error)) report(error, { during: "a response" });
      outgoing.destroy();
      return;
    }
    for (const name of outgoing.getHeaderNames()) outgoing.removeHeader(name);
    await sendResponse(outgoing, errorResponse({ onError: report }, error));
  }
}

/** True if the client disconnected, which is no error. */
function isDisconnect(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_STREAM_PREMATURE_CLOSE";
}

/** The handler of the app, which may throw. */
function quiet(onError: ErrorHandler): ErrorHandler {
  return (error, context) => {
    try {
      onError(error, context);
    } catch {
      // The client gets its response.
    }
  };
}

/** These belong to HTTP/1.1. */
const OF_CONNECTION: readonly string[] = ["connection", "upgrade"];

/**
 * Sends a whole or chunked body. Event streams need `startEventStream`.
 * @throws what the chunks throw, before anything is sent if it is the first one
 */
export async function sendResponse(
  outgoing: ServerResponse,
  { status, headers, body }: HttpResponse,
): Promise<void> {
  const chunks = body !== null && "chunks" in body ? body.chunks[Symbol.asyncIterator]() : null;
  const first = await chunks?.next();
  if (outgoing.destroyed) {
    await chunks?.return?.();
    return;
  }
  outgoing.statusCode = status;
  for (const [name, value] of Object.entries(headers))
    if (outgoing.req.httpVersionMajor < 2 || !OF_CONNECTION.includes(name)) outgoing.setHeader(name, value);
  if (chunks !== null) await pipeline(startingWith(first, chunks), outgoing);
  else if (body === null) outgoing.end();
  else if ("whole" in body) outgoing.end(body.whole);
  else throw new TypeError("sendResponse can't send an event stream, use startEventStream");
}

async function* startingWith<T>(
  first: IteratorResult<T> | undefined,
  rest: AsyncIterator<T>,
): AsyncIterable<T> {
  if (first === undefined || first.done === true) return;
  yield first.value;
  yield* { [Symbol.asyncIterator]: () => rest };
}

/** Sends a response of the app. */
export async function sendPage(outgoing: ServerResponse, page: Response): Promise<void> {
  const { status, headers, body } = page;
  if (outgoing.destroyed) {
    await body?.cancel();
    return;
  }
  if (page.bodyUsed || body?.locked === true)
    throw new TypeError("The page's response was sent before. Return a new Response for each request.");
  outgoing.statusCode = status;
  outgoing.setHeaders(headers);
  if (body === null) outgoing.end();
  else await pipeline(Readable.fromWeb(body), outgoing);
}
