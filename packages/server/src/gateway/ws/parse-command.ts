/** What can be said of a command before it is carried out. Pure. */
import { parseSocketCommand, type SocketCommand } from "@turnstream/protocol/schema";
import type { Scope } from "../auth/access.ts";
import { assertSafeJson } from "../untrusted-json.ts";
import { RequestError } from "../errors.ts";

const ACTION_OF: Readonly<Record<SocketCommand["type"], Scope>> = {
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
  return ACTION_OF[type];
}

/** The command in a frame, held to the same bounds as a body over HTTP. Throws BAD_REQUEST. */
export function parseCommand(text: string): SocketCommand {
  const read = parseSocketCommand(text);
  if (!read.ok) throw new RequestError(read.code, read.message);
  assertSafeJson(read.value);
  return read.value;
}

/** Longer ones are not looked into: whoever sends such things gets an answer without its name on it. */
const MAX_TEXT = 65_536;
const MAX_ID = 256;

/** The name that a frame gives itself, though it is no command; undefined when it has none. */
export function requestIdOf(text: string): string | undefined {
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
