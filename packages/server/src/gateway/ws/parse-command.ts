/** What can be said of a command before it is carried out. Pure. */
import { readSocketCommand, type SocketCommand } from "@turnstream/protocol/schema";
import type { Action } from "../auth/access.ts";
import { checkJson } from "../untrusted-json.ts";
import { Refused } from "../errors.ts";

const ACTION_OF: Readonly<Record<SocketCommand["type"], Action>> = {
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

export function actionOf(type: SocketCommand["type"]): Action {
  return ACTION_OF[type];
}

/** The command in a frame, held to the same bounds as a body over HTTP. Throws BAD_REQUEST. */
export function commandIn(text: string): SocketCommand {
  const read = readSocketCommand(text);
  if (!read.ok) throw new Refused(read.code, read.message);
  checkJson(read.value);
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
