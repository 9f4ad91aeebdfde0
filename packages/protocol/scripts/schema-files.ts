/**
 * The JSON Schema files of the package, made from the schemas in the source. Touches no files itself.
 */
import { errorReply, postMessage, restBodies, restReplies } from "@turnstream/protocol/schema";
import { blocksFrames } from "../src/dialects/blocks/frames.ts";
import { eventSchemas } from "../src/events/index.ts";
import { postMessageReply } from "../src/commands/http.ts";
import { responsesFrames } from "../src/dialects/responses/frames.ts";
import { socketCommands, socketReplies } from "../src/commands/socket.ts";
import { tasksFrames } from "../src/dialects/tasks/frames.ts";
import { ARTIFACTS } from "../src/artifacts/shapes.ts";
import { z } from "zod";

type Schemas = Readonly<Record<string, z.ZodType>>;

const SETS: Readonly<Record<string, { title: string; schemas: Schemas }>> = {
  events: { title: "Canonical events", schemas: eventSchemas },
  "blocks-frames": { title: "Frames of the blocks dialect", schemas: blocksFrames },
  "tasks-frames": { title: "Frames of the tasks dialect", schemas: tasksFrames },
  "responses-frames": { title: "Frames of the responses dialect", schemas: responsesFrames },
  "socket-commands": { title: "Commands over a WebSocket", schemas: socketCommands },
  "socket-replies": { title: "Answers to commands over a WebSocket", schemas: socketReplies },
  "rest-bodies": { title: "Bodies of the HTTP interface", schemas: restBodies },
  "rest-replies": { title: "Answers of the HTTP interface", schemas: restReplies },
  http: {
    title: "Bodies over HTTP",
    schemas: { post_message: postMessage, post_message_reply: postMessageReply, error: errorReply },
  },
};

/** Name and text of each file: one schema per set, `$defs` named by `type`, and any of them at the top. */
export function schemaFiles(): Map<string, string> {
  const files = new Map<string, string>();
  for (const [name, { title, schemas }] of Object.entries(SETS)) {
    const $defs = Object.fromEntries(
      Object.entries(schemas).map(([type, schema]) => [type, jsonSchema(schema)]),
    );
    const anyOf = Object.keys(schemas).map((type) => ({ $ref: `#/$defs/${type}` }));
    const file = { $schema: "https://json-schema.org/draft/2020-12/schema", title, anyOf, $defs };
    files.set(`${name}.json`, `${JSON.stringify(file, null, 2)}\n`);
  }
  files.set("artifacts.json", artifactsFile());
  return files;
}

/** Declared as JSON Schema in the source. Lengths of lists that depend on each other are checked by code only. */
function artifactsFile(): string {
  const anyOf = Object.keys(ARTIFACTS).map((type) => ({
    type: "object",
    properties: { type: { const: type }, data: { $ref: `#/$defs/${type}` } },
    required: ["type", "data"],
  }));
  const $schema = "https://json-schema.org/draft/2020-12/schema";
  return `${JSON.stringify({ $schema, title: "Artifacts", anyOf, $defs: ARTIFACTS }, null, 2)}\n`;
}

function jsonSchema(schema: z.ZodType): unknown {
  const { $schema: _, $defs: __, ...rest } = z.toJSONSchema(schema, { io: "input", reused: "inline" });
  return withoutRefs(rest);
}

/** Only "any JSON value" refers to itself. JSON Schema expresses it by the empty schema. */
function withoutRefs(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutRefs);
  if (typeof schema !== "object" || schema === null) return schema;
  const rest = Object.entries(schema).filter(([key]) => key !== "$ref");
  return Object.fromEntries(rest.map(([key, value]) => [key, withoutRefs(value)]));
}
