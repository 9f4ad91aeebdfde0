/** What can be said of a command before it is carried out. Pure. */
import type { SocketCommand } from "@turnstream/protocol/schema";
import type { Action } from "../access.ts";

const ACTION_OF: Readonly<Record<SocketCommand["type"], Action>> = {
  subscribe: "read",
  unsubscribe: "read",
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
