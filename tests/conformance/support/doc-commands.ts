/**
 * Compares the commands, replies and HTTP bodies of the documents with the code: `checkCommands` for PROTOCOL.md,
 * `checkBodies` for DIALECTS.md.
 *
 * Invariant: each command, reply and body has a row in a table and a valid example.
 */
import { errorReply, postMessage, socketCommandSchema } from "@turnstream/protocol/schema";
import { postMessageReply } from "../../../packages/protocol/src/commands/http.ts";
import { socketReplies } from "../../../packages/protocol/src/commands/socket.ts";
import {
  bare,
  bothWays,
  type Check,
  listFields,
  listSchemas,
  readExamples,
  readRows,
  type Schema,
} from "./doc-checks.ts";
import { readCode } from "./markdown.ts";

export interface Validator {
  safeParse(value: unknown): { readonly success: boolean; readonly error?: { readonly message: string } };
}

/** Returns the values that a schema rejects, with the reason. */
export function validate(what: string, schema: Validator, values: readonly unknown[]): string[] {
  return values.flatMap((value) => {
    const { success, error } = schema.safeParse(value);
    return success ? [] : [`${what} ${JSON.stringify(value)}: ${error?.message ?? ""}`];
  });
}

function checkTable(
  text: string,
  name: string,
  schemas: Readonly<Record<string, Schema>>,
  without: string[],
): string[] {
  return bothWays(
    name,
    readRows(text, name).map(
      ([type, fields = "", description]) => `${bare(type)} ${readCode(fields).join()} ${description}`,
    ),
    Object.entries(schemas).map(([type, s]) => `${type} ${listFields(s, without).join()} ${s.description}`),
  );
}

export const checkCommands: Check = (text) => {
  const commands = readExamples(text, "socket-command") as { readonly type: string }[];
  const replies = readExamples(text, "socket-reply") as { readonly type: string }[];
  return [
    ...validate("command", socketCommandSchema, commands),
    ...replies.flatMap((reply) => {
      const schema = Object.entries(socketReplies).find(([type]) => type === reply.type)?.[1];
      return schema === undefined ? [`reply ${reply.type}`] : validate("reply", schema, [reply]);
    }),
    ...bothWays(
      "example of a command",
      commands.map(({ type }) => type),
      Object.keys(listSchemas("socket-commands")),
    ),
    ...bothWays(
      "example of a reply",
      replies.map(({ type }) => type),
      Object.keys(socketReplies),
    ),
    ...checkTable(text, "command", listSchemas("socket-commands"), ["type"]),
    ...checkTable(text, "reply", listSchemas("socket-replies"), ["type"]),
    ...checkExamplesOf(text, { "error-reply": { validator: errorReply, name: "error" } }),
  ];
};

/** Checks the bodies of the route that sends a message in `responses`. */
export const checkBodies: Check = (text) =>
  checkExamplesOf(text, {
    "post-message": { validator: postMessage, name: "post_message" },
    "post-message-reply": { validator: postMessageReply, name: "post_message_reply" },
  });

/** Checks the table `body`, and that each body has a valid example. */
function checkExamplesOf(
  text: string,
  bodies: Readonly<Record<string, { readonly validator: Validator; readonly name: string }>>,
): string[] {
  const http = listSchemas("http");
  const schemas = Object.fromEntries(
    Object.entries(bodies).map(([mark, { name }]) => [mark, http[name] ?? {}]),
  );
  const examples = Object.entries(bodies).flatMap(([mark, { validator }]) => {
    const values = readExamples(text, mark);
    return values.length === 0 ? [`no example of ${mark}`] : validate(mark, validator, values);
  });
  return [...examples, ...checkTable(text, "body", schemas, [])];
}
