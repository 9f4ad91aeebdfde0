/**
 * Checks of PROTOCOL.md, part two: the dialects, history and commands. Every frame that is shown must be one
 * that the document's own log gives, and every table must say what the encoders and schemas say.
 */
import { emptyState, fold, type SessionState } from "@turnstream/protocol";
import {
  type Dialect,
  isHandoffPoint,
  trackHandoffPoint,
  foldWithHandoffPoint,
} from "@turnstream/protocol/writer";
import { blocks, toHistory } from "@turnstream/protocol/blocks";
import { responses, responsesToSse } from "@turnstream/protocol/responses";
import {
  blocksFrameSchema,
  errorReply,
  postMessage,
  postMessageReply,
  responsesFrameSchema,
  socketCommandSchema,
  socketReplies,
  tasksFrameSchema,
} from "@turnstream/protocol/schema";
import { tasks } from "@turnstream/protocol/tasks";
import {
  bare,
  bothWays,
  type Check,
  readExamples,
  listFields,
  logOf,
  readRows,
  type Schema,
  listSchemas,
} from "./doc-checks.ts";
import { readCode, readFences, readJson, readList } from "./markdown.ts";
import { statesOf } from "./replay.ts";

interface AnyFrame {
  readonly type: string;
  readonly event_id?: string;
}

interface Validator {
  safeParse(value: unknown): { readonly success: boolean; readonly error?: { readonly message: string } };
}

/** A dialect, told apart no further: the checks only encode with it. */
interface DialectFrames {
  readonly name: string;
  readonly cannotCarry: readonly string[];
  readonly schema: Validator;
  /** The frames of each event of a log. */
  readonly frames: (text: string) => { readonly event: string; readonly frames: readonly AnyFrame[] }[];
}

function collectFrames<E, D, F extends AnyFrame, O>(
  dialect: Dialect<E, D, F, O>,
  schema: Validator,
): DialectFrames {
  const frames: DialectFrames["frames"] = (text) => {
    let encoder = dialect.attach(emptyState);
    return logOf(text).map((event) => {
      const step = dialect.encode(encoder, event);
      encoder = step.encoder;
      return { event: event.type, frames: step.frames };
    });
  };
  return { name: dialect.name, cannotCarry: dialect.cannotCarry, schema, frames };
}

const DIALECTS: readonly DialectFrames[] = [
  collectFrames(blocks, blocksFrameSchema),
  collectFrames(tasks, tasksFrameSchema),
  collectFrames(responses, responsesFrameSchema),
];

function problemsOf(what: string, schema: Validator, values: readonly unknown[]): string[] {
  return values.flatMap((value) => {
    const { success, error } = schema.safeParse(value);
    return success ? [] : [`${what} ${JSON.stringify(value)}: ${error?.message ?? ""}`];
  });
}

/** Every frame type has an example, each example is valid and is a frame of the document's own log. */
export const checkFrames: Check = (text) =>
  DIALECTS.flatMap(({ name, schema, frames }) => {
    const shown = readExamples(text, `${name}-frame`) as AnyFrame[];
    const given = frames(text).flatMap((step) => step.frames);
    const known = new Set(given.map(sorted));
    const invented = shown.filter((frame) => !known.has(sorted(frame)));
    const types = shown.map((frame) => frame.type);
    return [
      ...problemsOf(name, schema, shown),
      ...invented.map((frame) => {
        const alike = given.filter(
          ({ type, event_id }) => type === frame.type && event_id === frame.event_id,
        );
        return `${name}: not ${JSON.stringify(frame)} but ${alike.map((f) => JSON.stringify(f)).join(" or ")}`;
      }),
      ...bothWays(`example of ${name}`, types, Object.keys(listSchemas(`${name}-frames`))),
    ];
  });

/** JSON text that is the same for the same value, whatever the order of its fields. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** What a takeover tells depends on what it makes void; the log need not show all that it may tell. */
const VARIES = "turn.takeover";

export const checkMappings: Check = (text) =>
  DIALECTS.flatMap(({ name, frames }) => {
    const types = new Set(Object.keys(listSchemas(`${name}-frames`)));
    const real = frames(text).flatMap((step) => step.frames.map((frame) => `${step.event} to ${frame.type}`));
    const written = readRows(text, `event to ${name}`).flatMap(([events = "", to = ""]) => {
      const listed = readCode(to).filter((code) => types.has(code));
      return readCode(events).flatMap((event) => listed.map((frame) => `${event} to ${frame}`));
    });
    const certain = written.filter((line) => !line.startsWith(`${VARIES} `) || real.includes(line));
    return bothWays(name, certain, real);
  });

/** The objects that a schema allows, each with its name: `type`, or the name given. */
function variantsOf(name: string, schema: Schema): [string, Schema][] {
  const inner = schema.oneOf ?? schema.anyOf;
  return inner === undefined
    ? [[schema.properties?.["type"]?.const ?? name, schema]]
    : inner.flatMap((s) => variantsOf(name, s));
}

function checkTable(text: string, table: string, variants: readonly [string, Schema][]): string[] {
  const known = new Set(variants.map(([name]) => name));
  const written = readRows(text, table).map(([name, fields = "", ours = ""]) => {
    const all = [...readCode(fields), ...readCode(ours)].toSorted();
    return `${known.has(bare(name)) ? bare(name) : ""} ${all.join()}`;
  });
  const real = variants.map(
    ([name, s]) => `${name} ${listFields(s, ["type", "event_id"]).toSorted().join()}`,
  );
  return bothWays(table, written, real);
}

function partOf(set: string, ...path: string[]): Schema {
  const [type = "", ...fields] = path;
  let schema: Schema = listSchemas(set)[type] ?? {};
  for (const field of fields) schema = schema.properties?.[field] ?? {};
  return schema;
}

export const checkFrameFields: Check = (text) => {
  const frames = DIALECTS.flatMap(({ name }) => {
    const all = Object.entries(listSchemas(`${name}-frames`));
    return checkTable(
      text,
      `${name} frame`,
      all.flatMap(([type, s]) => variantsOf(type, s)),
    );
  });
  const items = variantsOf("", partOf("tasks-frames", "task.output_item.done", "item"));
  const pieces = ["task.text.done", "task.image.done"].flatMap((type) =>
    variantsOf("", partOf("tasks-frames", type, "item")),
  );
  return [
    ...frames,
    ...checkTable(
      text,
      "content block",
      variantsOf("", partOf("blocks-frames", "content_block_start", "content_block")),
    ),
    ...checkTable(text, "delta", variantsOf("", partOf("blocks-frames", "content_block_delta", "delta"))),
    ...checkTable(text, "tasks item", items),
    ...checkTable(text, "tasks block", pieces),
  ];
};

export const checkLimits: Check = (text) =>
  DIALECTS.flatMap(({ name, cannotCarry }) =>
    bothWays(`${name} can't carry`, readList(text, `#### What \`${name}\` can't carry`), cannotCarry),
  );

export const checkHistory: Check = (text) => {
  const states = statesOf(logOf(text));
  const shown = readFences(text).flatMap(({ info, body }) => {
    const [, at] = /^json history (\S+)$/.exec(info) ?? [];
    return at === undefined ? [] : [{ at, history: readJson(body)[0] }];
  });
  const wrong = shown.flatMap(({ at, history }) => {
    const state = states.find(({ epoch, seq }) => `${epoch}-${seq}` === at);
    const real = state === undefined ? null : toHistory(state);
    return sorted(real) === sorted(history) ? [] : [`history at ${at} is ${JSON.stringify(real)}`];
  });
  let track = trackHandoffPoint(emptyState);
  const all = logOf(text).map((event) =>
    toHistory((track = foldWithHandoffPoint(track, event)).handoff ?? emptyState),
  );
  const messages = all.flatMap((history) => [...history.messages, ...history.waiting]);
  const always = messages.reduce((keys, m) => keys.filter((key) => key in m), Object.keys(messages[0] ?? {}));
  const keys = messages.flatMap((m) => Object.keys(m).map((key) => (always.includes(key) ? key : `${key}?`)));
  const names = (table: string): string[] => readRows(text, table).map(([field]) => bare(field));
  return [
    ...(shown.length > 0 ? wrong : ["there is no history"]),
    ...bothWays("history", names("history field"), all.flatMap(Object.keys)),
    ...bothWays("history message", names("history message"), keys),
    ...bothWays("not quiet", readExamples(text, "not-quiet").flat() as string[], checkHandoffRows(text)),
  ];
};

function checkHandoffRows(text: string): string[] {
  let state: SessionState = emptyState;
  return logOf(text).flatMap((event) => (isHandoffPoint((state = fold(state, event))) ? [] : [event.id]));
}

export const checkSse: Check = (text) => {
  const given = DIALECTS.filter(({ name }) => name === responses.name).flatMap(({ frames }) => frames(text));
  const real = given.map(({ frames }) =>
    frames
      .map((f) => responsesToSse(f as never))
      .join("")
      .trimEnd(),
  );
  const shown = readFences(text).filter(({ info }) => info === "sse");
  const wrong = shown.filter(({ body }) => !real.includes(body)).map(({ line }) => `SSE in line ${line}`);
  return shown.length > 0 ? wrong : ["there is no SSE"];
};

const BODIES: Readonly<Record<string, { validator: Validator; name: string }>> = {
  "post-message": { validator: postMessage, name: "post_message" },
  "post-message-reply": { validator: postMessageReply, name: "post_message_reply" },
  "error-reply": { validator: errorReply, name: "error" },
};

export const checkCommands: Check = (text) => {
  const commands = readExamples(text, "socket-command") as AnyFrame[];
  const replies = readExamples(text, "socket-reply") as AnyFrame[];
  const table = (name: string, all: Record<string, Schema>, without: string[]): string[] =>
    bothWays(
      name,
      readRows(text, name).map(
        ([type, fields = "", description]) => `${bare(type)} ${readCode(fields).join()} ${description}`,
      ),
      Object.entries(all).map(([type, s]) => `${type} ${listFields(s, without).join()} ${s.description}`),
    );
  const http = listSchemas("http");
  const bodies = Object.fromEntries(
    Object.entries(BODIES).map(([mark, { name }]) => [mark, http[name] ?? {}]),
  );
  return [
    ...problemsOf("command", socketCommandSchema, commands),
    ...replies.flatMap((reply) => {
      const schema = Object.entries(socketReplies).find(([type]) => type === reply.type)?.[1];
      return schema === undefined ? [`reply ${reply.type}`] : problemsOf("reply", schema, [reply]);
    }),
    ...bothWays(
      "example of a command",
      commands.map((c) => c.type),
      Object.keys(listSchemas("socket-commands")),
    ),
    ...bothWays(
      "example of a reply",
      replies.map((r) => r.type),
      Object.keys(socketReplies),
    ),
    ...Object.entries(BODIES).flatMap(([mark, { validator }]) => {
      const shown = readExamples(text, mark);
      return shown.length === 0 ? [`there is no ${mark}`] : problemsOf(mark, validator, shown);
    }),
    ...table("command", listSchemas("socket-commands"), ["type"]),
    ...table("reply", listSchemas("socket-replies"), ["type"]),
    ...table("body", bodies, []),
  ];
};
