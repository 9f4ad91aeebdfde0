/** Reads the body of a request: bounded, as JSON. Never reads more than it needs to refuse it. */
import { parseUntrustedJson } from "../untrusted-json.ts";
import { RequestError } from "../errors.ts";
import type { HttpRequest } from "./http-messages.ts";

const JSON_TYPE = /^application\/(?:[\w.-]+[+])?json(?:\s*;|$)/i;

/** An empty body is an empty object. Throws BAD_REQUEST and TOO_LARGE. */
export async function readJsonBody(
  { headers, body }: Pick<HttpRequest, "headers" | "body">,
  most: number,
): Promise<unknown> {
  if (Number(headers.get("content-length") ?? 0) > most) throw tooLarge(most);
  const bytes = await readBytes(body, most);
  if (bytes.byteLength === 0) return {};
  const type = headers.get("content-type");
  if (type !== undefined && !JSON_TYPE.test(type))
    throw new RequestError("BAD_REQUEST", "The body must be JSON: send content-type: application/json.");
  return parseUntrustedJson(utf8(bytes));
}

/** The connection's end is no fault of ours. Throws BAD_REQUEST. */
export async function* asClientAbort(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* body;
  } catch {
    throw new RequestError("BAD_REQUEST", "The body broke off.");
  }
}

async function readBytes(body: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array> {
  // Copied into one piece: a body can come byte by byte, and a list of such pieces is many times its size.
  let bytes = Buffer.alloc(0);
  let size = 0;
  for await (const chunk of asClientAbort(body)) {
    const end = size + chunk.byteLength;
    if (end > most) throw tooLarge(most);
    if (end > bytes.byteLength) bytes = grown(bytes, size, end);
    bytes.set(chunk, size);
    size = end;
  }
  return bytes.subarray(0, size);
}

/** With as much again for what may follow. */
function grown(bytes: Buffer<ArrayBuffer>, size: number, least: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafe(Math.max(least, 2 * size));
  larger.set(bytes.subarray(0, size));
  return larger;
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new RequestError("BAD_REQUEST", "The body must be UTF-8.");
  }
}

function tooLarge(most: number): RequestError {
  return new RequestError("TOO_LARGE", `The body must have at most ${most} bytes.`);
}
