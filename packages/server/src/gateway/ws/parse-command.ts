/**
 * `readFrame` reads the outer fields of a command from a frame, `parseCommand` validates the whole command, and
 * `REQUIRED_SCOPES` has the scope that it needs. Pure.
 * Invariant: a frame passes the same checks as an HTTP body: size, depth, number of values, `__proto__` and schema.
 * `readFrame` looks only at type, session and request id, so that scope and session are checked before the rest. Each
 * command needs the same scope as its HTTP route. `parseRequestId` reads an invalid frame only to find its request id,
 * up to 64 KiB.
 */
import { socketCommandSchema, type SocketCommand } from "@turnstream/protocol/schema";
import type { Scope } from "../auth/access.ts";
import { parseUntrustedJson } from "../http/untrusted-json.ts";

export const REQUIRED_SCOPES: Readonly<Record<SocketCommand["type"], Scope>> = {
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

/** True for commands that end work or decide something. They have counters of their own. */
export function isUrgent(type: SocketCommand["type"]): boolean {
  return type === "stop" || type === "unsubscribe" || REQUIRED_SCOPES[type] === "decide";
}

/** A command of which only the outer fields are validated. */
export interface CommandFrame {
  readonly type: SocketCommand["type"];
  /** Null for a command that belongs to no session. */
  readonly session: string | null;
  readonly requestId: string | undefined;
  /** The whole command, for `parseCommand`. */
  readonly value: unknown;
}

const MAX_ID = 256;

/**
 * Reads the outer fields of a command. If one of them is invalid, the error of the schema names it.
 * @throws RequestError or ZodError
 */
export function readFrame(bytes: Uint8Array): CommandFrame {
  const value = parseUntrustedJson(bytes);
  const { type, session_id: session } = fieldsOf(value);
  const isKnown = typeof type === "string" && Object.hasOwn(REQUIRED_SCOPES, type);
  if (!isKnown || (type !== "ping" && !isShortText(session))) parseCommand(value);
  return {
    type: type as SocketCommand["type"],
    session: type === "ping" ? null : (session as string),
    requestId: requestIdOf(value),
    value,
  };
}

/** @throws ZodError */
export function parseCommand(value: unknown): SocketCommand {
  return socketCommandSchema.parse(value);
}

/** Longer frames are not parsed again: their error has no request id. */
const MAX_BYTES = 65_536;

/** Returns the request id of an invalid frame, or undefined if it has none. */
export function parseRequestId(bytes: Buffer): string | undefined {
  if (bytes.byteLength > MAX_BYTES) return undefined;
  try {
    return requestIdOf(JSON.parse(bytes.toString()));
  } catch {
    return undefined;
  }
}

function requestIdOf(value: unknown): string | undefined {
  const { request_id: id } = fieldsOf(value);
  return isShortText(id) ? id : undefined;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function isShortText(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= MAX_ID;
}
