/**
 * Compares DIALECTS.md with the code: frames, mappings, fields, history and SSE of each dialect. Each check gets the
 * text of DIALECTS.md and the example log of PROTOCOL.md.
 *
 * Invariant: every frame in the document is a frame of the example log. Every table matches the encoders and schemas.
 */
import { emptyState, fold, type SessionEvent, type SessionState } from "@turnstream/protocol";
import {
  type Dialect,
  isHandoffPoint,
  trackHandoffPoint,
  foldWithHandoffPoint,
} from "@turnstream/protocol/writer";
import { blocks, toHistory } from "@turnstream/protocol/blocks";
import { responses, responsesToSse } from "@turnstream/protocol/responses";
import { blocksFrameSchema, responsesFrameSchema, tasksFrameSchema } from "@turnstream/protocol/schema";
import { tasks } from "@turnstream/protocol/tasks";
import {
  bare,
  bothWays,
  type Check,
  readExamples,
  listFields,
  readRows,
  type Schema,
  listSchemas,
} from "./doc-checks.ts";
import { validate, type Validator } from "./doc-commands.ts";
import { readCode, readFences, readJson, readList } from "./markdown.ts";
import { statesOf } from "./replay.ts";

interface AnyFrame {
  readonly type: string;
  readonly event_id?: string;
}

/** Returns the differences between DIALECTS.md and the code. */
export type DialectCheck = (text: string, log: readonly SessionEvent[]) => string[];

/** A dialect without its own types: the checks only encode with it. */
interface DialectFrames {
  readonly name: string;
  readonly cannotCarry: readonly string[];
  readonly schema: Validator;
  /** The frames of each event of a log. */
  readonly frames: (
    log: readonly SessionEvent[],
  ) => { readonly event: string; readonly frames: readonly AnyFrame[] }[];
}

function collectFrames<E, F extends AnyFrame, O>(
  dialect: Dialect<E, F, O>,
  schema: Validator,
): DialectFrames {
  const frames: DialectFrames["frames"] = (log) => {
    let encoder = dialect.attach(emptyState);
    return log.map((event) => {
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

/** Checks that every frame type has an example, and that each example is valid and a frame of the example log. */
export const checkFrames: DialectCheck = (text, log) =>
  DIALECTS.flatMap(({ name, schema, frames }) => {
    const shown = readExamples(text, `${name}-frame`) as AnyFrame[];
    const encoded = frames(log).flatMap((step) => step.frames);
    const known = new Set(encoded.map(sorted));
    const unknown = shown.filter((frame) => !known.has(sorted(frame)));
    const types = shown.map((frame) => frame.type);
    return [
      ...validate(name, schema, shown),
      ...unknown.map((frame) => {
        const alike = encoded.filter(
          ({ type, event_id }) => type === frame.type && event_id === frame.event_id,
        );
        return `${name}: ${JSON.stringify(frame)} should be ${alike.map((f) => JSON.stringify(f)).join(" or ")}`;
      }),
      ...bothWays(`example of ${name}`, types, Object.keys(listSchemas(`${name}-frames`))),
    ];
  });

/** JSON text with sorted keys, so that equal values have equal text. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** The frames of a takeover depend on the superseded items. The example log doesn't contain all of them. */
const VARIES = "turn.takeover";

export const checkMappings: DialectCheck = (text, log) =>
  DIALECTS.flatMap(({ name, frames }) => {
    const types = new Set(Object.keys(listSchemas(`${name}-frames`)));
    const real = frames(log).flatMap((step) => step.frames.map((frame) => `${step.event} to ${frame.type}`));
    const written = readRows(text, `event to ${name}`).flatMap(([events = "", to = ""]) => {
      const listed = readCode(to).filter((code) => types.has(code));
      return readCode(events).flatMap((event) => listed.map((frame) => `${event} to ${frame}`));
    });
    const certain = written.filter((line) => !line.startsWith(`${VARIES} `) || real.includes(line));
    return bothWays(name, certain, real);
  });

/** The objects that a schema allows, each with its name: its `type`, or `name` if it has none. */
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
    bothWays(`${name} can't carry`, readList(text, `### What \`${name}\` can't carry`), cannotCarry),
  );

export const checkHistory: DialectCheck = (text, log) => {
  const states = statesOf(log);
  const shown = readFences(text).flatMap(({ info, body }) => {
    const [, at] = /^json history (\S+)$/.exec(info) ?? [];
    return at === undefined ? [] : [{ at, history: readJson(body)[0] }];
  });
  const wrong = shown.flatMap(({ at, history }) => {
    const state = states.find(({ epoch, seq }) => `${epoch}-${seq}` === at);
    const real = state === undefined ? null : toHistory(state);
    return sorted(real) === sorted(history) ? [] : [`history at ${at} is ${JSON.stringify(real)}`];
  });
  // The example log has no fork.
  const fork = log.map((event) => (event.type === "turn.start" ? { ...event, from_share: true } : event));
  const all = [log, fork].flatMap((events) => {
    let track = trackHandoffPoint(emptyState);
    return events.map((event) =>
      toHistory((track = foldWithHandoffPoint(track, event)).handoff ?? emptyState),
    );
  });
  const messages = all.flatMap((history) => history.messages);
  const always = messages.reduce((keys, m) => keys.filter((key) => key in m), Object.keys(messages[0] ?? {}));
  const keys = messages.flatMap((m) => Object.keys(m).map((key) => (always.includes(key) ? key : `${key}?`)));
  const names = (table: string): string[] => readRows(text, table).map(([field]) => bare(field));
  return [
    ...(shown.length > 0 ? wrong : ["no example of history"]),
    ...bothWays("history", names("history field"), all.flatMap(Object.keys)),
    ...bothWays("history message", names("history message"), keys),
    ...bothWays(
      "no handoff point",
      readExamples(text, "no-handoff").flat() as string[],
      listNonHandoffPoints(log),
    ),
  ];
};

/** The positions of a log that are not handoff points. */
function listNonHandoffPoints(log: readonly SessionEvent[]): string[] {
  let state: SessionState = emptyState;
  return log.flatMap((event) => (isHandoffPoint((state = fold(state, event))) ? [] : [event.id]));
}

export const checkSse: DialectCheck = (text, log) => {
  const steps = DIALECTS.filter(({ name }) => name === responses.name).flatMap(({ frames }) => frames(log));
  const real = steps.map(({ frames }) =>
    frames
      .map((f) => responsesToSse(f as never))
      .join("")
      .trimEnd(),
  );
  const shown = readFences(text).filter(({ info }) => info === "sse");
  const wrong = shown.filter(({ body }) => !real.includes(body)).map(({ line }) => `SSE in line ${line}`);
  return shown.length > 0 ? wrong : ["no example of SSE"];
};
