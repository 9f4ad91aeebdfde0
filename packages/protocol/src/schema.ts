/**
 * `parseSocketCommand`, `parsePostMessage` and `parseEvent` validate untrusted input. Also exports the schemas of
 * events, frames and commands.
 * Invariant: no input makes a parser throw. It returns BAD_REQUEST with a reason for the sender, also for input that is
 * nested too deeply. JSON text with the key `__proto__` is rejected. This is a separate subpath, because it loads the
 * schema library.
 */
import type { z } from "zod";
import { type SocketCommand, socketCommandSchema } from "./commands/socket.ts";
import { postMessage, type PostMessage } from "./commands/http.ts";
import type { ErrorCode } from "./errors.ts";
import { type SessionEvent, eventSchema } from "./events/index.ts";

export {
  type SocketCommand,
  socketCommands,
  socketCommandSchema,
  socketReplies,
  type SocketReply,
} from "./commands/socket.ts";
export { blocksFrameSchema, blocksFrames } from "./dialects/blocks/frames.ts";
export {
  errorReply,
  type ErrorReply,
  postMessage,
  type PostMessage,
  postMessageReply,
  type PostMessageReply,
} from "./commands/http.ts";
export { type RestBody, restBodies, restReplies, type RestReply } from "./commands/rest.ts";
export { responsesFrameSchema, responsesFrames } from "./dialects/responses/frames.ts";
export { tasksFrameSchema, tasksFrames } from "./dialects/tasks/frames.ts";
export { eventSchema, eventSchemas } from "./events/index.ts";
export { FIELD_TYPES } from "./events/interactions.ts";

/** The parsed value, or the reason for the sender why it was rejected. */
export type ParseResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly code: Extract<ErrorCode, "BAD_REQUEST">; readonly message: string };

/** Parses a command from a text frame of a socket. */
export function parseSocketCommand(text: string): ParseResult<SocketCommand> {
  return readJson(socketCommandSchema, text);
}

/** Parses the body of a posted message. */
export function parsePostMessage(text: string): ParseResult<PostMessage> {
  return readJson(postMessage, text);
}

/** Parses an event of the current schema version, as writers must produce it. */
export function parseEvent(value: unknown): ParseResult<SessionEvent> {
  return readValue(eventSchema, value);
}

function readJson<T>(schema: z.ZodType<T>, text: string): ParseResult<T> {
  let value: unknown;
  try {
    value = JSON.parse(text, refuseProto);
  } catch (error) {
    const message = error instanceof ProtoKeyError ? error.message : "This is not JSON.";
    return { ok: false, code: "BAD_REQUEST", message };
  }
  return readValue(schema, value);
}

class ProtoKeyError extends Error {}

/** Rejects the key `__proto__`, because later code could drop it or change a prototype with it. */
function refuseProto(key: string, value: unknown): unknown {
  if (key === "__proto__") throw new ProtoKeyError('The key "__proto__" is not allowed.');
  return value;
}

function readValue<T>(schema: z.ZodType<T>, value: unknown): ParseResult<T> {
  let result: z.ZodSafeParseResult<T>;
  try {
    result = schema.safeParse(value);
  } catch {
    return { ok: false, code: "BAD_REQUEST", message: "This is nested too deeply." };
  }
  if (result.success) return { ok: true, value: result.data };
  const issue = result.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.map(String).join(".")}: `;
  return { ok: false, code: "BAD_REQUEST", message: `${where}${issue?.message ?? "not valid"}` };
}
