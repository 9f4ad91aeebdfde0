/** `parseCommand` reads a command from a frame; `requiredScope` and `parseRequestId` are known before it is executed. Pure. */
import { parseSocketCommand, type SocketCommand } from "@turnstream/protocol/schema";
import type { Scope } from "../auth/access.ts";
import { assertSafeJson } from "../untrusted-json.ts";
import { RequestError } from "../errors.ts";

const REQUIRED_SCOPES: Readonly<Record<SocketCommand["type"], Scope>> = {
  subscribe: "read",
  unsubscribe: "read",
  ping: "read",
  send: "write",
  stop: "write",
  decide: "decide",
  answer: "decide",
  dismiss: "decide",
  submit: "decide",
  decline: "decide",
};

export function requiredScope(type: SocketCommand["type"]): Scope {
  return REQUIRED_SCOPES[type];
}

/** The command in a frame, held to the same bounds as a body over HTTP. Throws BAD_REQUEST. */
export function parseCommand(text: string): SocketCommand {
  const parsed = parseSocketCommand(text);
  if (!parsed.ok) throw new RequestError(parsed.code, parsed.message);
  assertSafeJson(parsed.value);
  return parsed.value;
}

/** Longer frames are not parsed: their error has no request id. */
const MAX_TEXT = 65_536;
const MAX_ID = 256;

/** The request id of a frame that is no command; undefined when it has none. */
export function parseRequestId(text: string): string | undefined {
  if (text.length > MAX_TEXT) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || !("request_id" in value)) return undefined;
    const { request_id: id } = value;
    return typeof id === "string" && id.length > 0 && id.length <= MAX_ID ? id : undefined;
  } catch {
    return undefined;
  }
}
