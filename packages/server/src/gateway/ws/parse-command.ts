/**
 * `parseCommand` parses a command from a frame, and `requiredScope` returns the scope that it needs. Pure.
 * Invariant: a frame passes the same checks as an HTTP body: schema, depth and `__proto__`. Each command needs the
 * same scope as its HTTP route. `parseRequestId` reads an invalid frame only to find its request id, up to 64 KiB.
 */
import { parseSocketCommand, type SocketCommand } from "@turnstream/protocol/schema";
import type { Scope } from "../auth/access.ts";
import { assertSafeJson } from "../http/untrusted-json.ts";
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
  cancel_payment: "decide",
  refresh_payment: "read",
};

export function requiredScope(type: SocketCommand["type"]): Scope {
  return REQUIRED_SCOPES[type];
}

/** True for commands that end work or decide something. They have counters of their own. */
export function isUrgent(type: SocketCommand["type"]): boolean {
  return type === "stop" || type === "unsubscribe" || requiredScope(type) === "decide";
}

/**
 * Applies the same limits as for an HTTP body.
 * @throws RequestError with code `BAD_REQUEST`
 */
export function parseCommand(text: string): SocketCommand {
  const parsed = parseSocketCommand(text);
  if (!parsed.ok) throw new RequestError(parsed.code, parsed.message);
  assertSafeJson(parsed.value);
  return parsed.value;
}

/** Longer frames are not parsed again: their error has no request id. */
const MAX_TEXT = 65_536;
const MAX_ID = 256;

/** Returns the request id of an invalid frame, or undefined if it has none. */
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
