/**
 * `readJsonBody` and `readBytes` read the body of a request, and `asClientAbort` reports a broken connection as a
 * client error.
 * Invariant: reading stops as soon as the body exceeds `maxBytes`, whatever `content-length` claims. Only JSON that
 * passes `parseUntrustedJson` is returned. An empty body is an empty object; a missing content type counts as JSON.
 */
import { parseUntrustedJson } from "./untrusted-json.ts";
import { RequestError } from "../errors.ts";
import type { HttpRequest } from "./http-messages.ts";

const JSON_TYPE = /^application\/(?:[\w.-]+[+])?json(?:\s*;|$)/i;

/**
 * An empty body is an empty object.
 * @throws RequestError with code `BAD_REQUEST` or `TOO_LARGE`
 */
export async function readJsonBody(
  { headers, body }: Pick<HttpRequest, "headers" | "body">,
  maxBytes: number,
): Promise<unknown> {
  if (Number(headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const bytes = await readBytes(body, maxBytes);
  if (bytes.byteLength === 0) return {};
  const type = headers.get("content-type");
  if (type !== undefined && !JSON_TYPE.test(type))
    throw new RequestError("BAD_REQUEST", "The body must be JSON: send content-type: application/json.");
  return parseUntrustedJson(bytes);
}

/**
 * Converts a broken connection to a client error, because it is not a server error.
 * @throws RequestError with code `BAD_REQUEST`
 */
export async function* asClientAbort(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* body;
  } catch {
    throw new RequestError("BAD_REQUEST", "The connection closed before the body was complete.");
  }
}

/**
 * Reads a body that must not be larger than `maxBytes`.
 * @throws RequestError with code `BAD_REQUEST` or `TOO_LARGE`
 */
export async function readBytes(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  // Copy into one buffer: a client can send single bytes, and a list of such chunks needs many times their size.
  let bytes = Buffer.alloc(0);
  let size = 0;
  for await (const chunk of asClientAbort(body)) {
    const end = size + chunk.byteLength;
    if (end > maxBytes) throw tooLarge(maxBytes);
    if (end > bytes.byteLength) bytes = growBuffer(bytes, size, end);
    bytes.set(chunk, size);
    size = end;
  }
  return bytes.subarray(0, size);
}

/** Doubles the size, so that further chunks fit without another copy. */
function growBuffer(bytes: Buffer<ArrayBuffer>, size: number, minBytes: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafe(Math.max(minBytes, 2 * size));
  larger.set(bytes.subarray(0, size));
  return larger;
}

function tooLarge(maxBytes: number): RequestError {
  return new RequestError("TOO_LARGE", `The body must have at most ${maxBytes} bytes.`);
}
