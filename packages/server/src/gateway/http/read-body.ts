/** Reads the body of a request: bounded, as JSON. Never reads more than it needs to refuse it. */
import { readJson } from "../read-json.ts";
import { Refused } from "../refused.ts";
import type { HttpRequest } from "./message.ts";

const JSON_TYPE = /^application\/(?:[\w.-]+[+])?json(?:\s*;|$)/i;

/** An empty body is an empty object. Throws BAD_REQUEST and TOO_LARGE. */
export async function readBody(
  { headers, body }: Pick<HttpRequest, "headers" | "body">,
  most: number,
): Promise<unknown> {
  if (Number(headers.get("content-length") ?? 0) > most) throw tooLarge(most);
  const bytes = await readBytes(body, most);
  if (bytes.byteLength === 0) return {};
  const type = headers.get("content-type");
  if (type !== undefined && !JSON_TYPE.test(type))
    throw new Refused("BAD_REQUEST", "The body must be JSON: send content-type: application/json.");
  return readJson(utf8(bytes));
}

async function readBytes(body: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.byteLength;
      if (size > most) throw tooLarge(most);
      chunks.push(chunk);
    }
  } catch (error) {
    // The connection's end is no fault of ours.
    throw error instanceof Refused ? error : new Refused("BAD_REQUEST", "The body broke off.");
  }
  return Buffer.concat(chunks);
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Refused("BAD_REQUEST", "The body must be UTF-8.");
  }
}

function tooLarge(most: number): Refused {
  return new Refused("TOO_LARGE", `The body must have at most ${most} bytes.`);
}
