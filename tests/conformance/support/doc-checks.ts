/**
 * Compares PROTOCOL.md with the code: positions, events, fields, state, rules and errors. doc-commands.ts does the
 * same for commands. Each check returns a list of differences, which is empty when the document is correct.
 *
 * Invariant: a check reads only the text that it gets, the published JSON Schemas and the code. So it sees every
 * planted error in the text.
 */
import { readFileSync } from "node:fs";
import {
  emptyState,
  ERRORS,
  type SessionEvent,
  fold,
  parseCursor,
  classifyEvent,
  snapshot,
} from "@turnstream/protocol";
import { checkEvent, TRANSITIONS, TURN_ERROR_CODES } from "@turnstream/protocol/writer";
import { EVENT_RULES } from "../../../packages/protocol/src/check-event/rules.ts";
import { parseEvent } from "./parse-event.ts";
import { readCode, readFences, readJson, readLinks, readTables } from "./markdown.ts";
import { statesOf } from "./replay.ts";

/** Returns the differences between a document and the code. */
export type Check = (text: string) => string[];

/** Returns the entries that only the document has, and those that only the code has. */
export function bothWays(what: string, written: Iterable<string>, real: Iterable<string>): string[] {
  const [documented, actual] = [new Set(written), new Set(real)];
  const extra = [...documented]
    .filter((x) => !actual.has(x))
    .map((x) => `${what}: only in the document: ${x}`);
  const missing = [...actual]
    .filter((x) => !documented.has(x))
    .map((x) => `${what}: not in the document: ${x}`);
  return [...extra, ...missing];
}

/** The rows of all tables with this first column, with their backticks. */
export function readRows(text: string, name: string): (readonly string[])[] {
  const tables = readTables(text, name);
  if (tables.length === 0) throw new Error(`The document has no table "${name}".`);
  return tables.flat();
}

/** A cell without backticks. */
export const bare = (cell: string | undefined): string => (cell ?? "").replaceAll("`", "");

/** The JSON values of the fenced blocks `json <mark>`. */
export function readExamples(text: string, mark: string): unknown[] {
  return readFences(text).flatMap(({ info, body }) => (info === `json ${mark}` ? readJson(body) : []));
}

/** The example log of PROTOCOL.md. */
export const logOf = (text: string): SessionEvent[] => readExamples(text, "event") as SessionEvent[];

/** The part of JSON Schema that the published schemas use. */
export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly minimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** The published schemas of one file, by `type`. */
export function listSchemas(name: string): Record<string, Schema> {
  const url = new URL(`../../../packages/protocol/schemas/${name}.json`, import.meta.url);
  return (JSON.parse(readFileSync(url, "utf8")) as { $defs: Record<string, Schema> }).$defs;
}

const EVENTS = listSchemas("events");
const ENVELOPE = ["v", "id", "at", "first", "type"];

/** The fields of an object; optional ones end with a question mark. */
export function listFields(schema: Schema, without: readonly string[] = []): string[] {
  const fields = Object.keys(schema.properties ?? {}).filter((field) => !without.includes(field));
  return fields.map((field) => (schema.required?.includes(field) === true ? field : `${field}?`));
}

/** Checks that there is an example of every event, and that the examples form a valid log. */
export const checkExamples: Check = (text) => {
  const wrong: string[] = [];
  let state = emptyState;
  for (const event of logOf(text)) {
    const result = parseEvent(event);
    if (!result.ok) wrong.push(`${event.type} ${event.id}: ${result.message}`);
    const illegal = checkEvent(state, event);
    if (illegal !== null) wrong.push(`${event.type} ${event.id}: ${illegal.rule} ${illegal.message}`);
    state = fold(state, event);
  }
  const types = logOf(text).map((event) => event.type);
  return [...wrong, ...bothWays("example of an event", types, Object.keys(EVENTS))];
};

/** Checks the examples of `classifyEvent`, and that each class has a row and an example. */
export const checkClasses: Check = (text) => {
  const examples = readRows(text, "last").map((row) => row.map(bare));
  const wrong = examples.flatMap(([at = "", id = "", first = "-", type = "", documented]) => {
    const last = parseCursor(at);
    if (last === null) return [`${at} is not a cursor`];
    const real = classifyEvent(last, { id, type, ...(first === "-" ? {} : { first: Number(first) }) });
    return real === documented ? [] : [`${id} after ${at} is ${real}`];
  });
  const classes = readRows(text, "class").map(([name]) => bare(name));
  return [
    ...wrong,
    ...bothWays(
      "class",
      classes,
      examples.map((row) => row[4] ?? ""),
    ),
  ];
};

/** The fields that address the target of an event, by scope. */
function readScopes(text: string): Map<string, string[]> {
  return new Map(readRows(text, "scope").map(([scope = "", fields = ""]) => [scope, readCode(fields)]));
}

export const checkEvents: Check = (text) => {
  const scopes = readScopes(text);
  const written = readRows(text, "event").map(([event, scope = "", own = "", description]) => {
    const fields = [...(scopes.get(scope) ?? ["?"]), ...readCode(own)].toSorted();
    return `${bare(event)} ${fields.join()} ${description}`;
  });
  const real = Object.entries(EVENTS).map(
    ([type, schema]) => `${type} ${listFields(schema, ENVELOPE).toSorted().join()} ${schema.description}`,
  );
  const envelope = readRows(text, "envelope").map(([field]) => bare(field));
  const every = Object.values(EVENTS).flatMap((schema) =>
    listFields(schema).filter((f) => ENVELOPE.includes(f.replace("?", ""))),
  );
  const folded = readRows(text, "event folded").flatMap(([types = ""]) => readCode(types));
  return [
    ...bothWays("event", written, real),
    ...bothWays("envelope", envelope, every),
    ...bothWays("event folded", folded, Object.keys(EVENTS)),
  ];
};

/** The shapes inside fields of events, and a field that contains each. */
const SHAPES: Readonly<Record<string, string>> = {
  usage: "turn.end/usage",
  file: "message.add/files",
  annotation: "text.delta/annotations",
  reference: "tool_result.delta/reference",
  artifact: "tool_result.end/artifact",
  whole: "tool_result.end/whole",
  template: "notice.stopped/template",
  action: "approval.request/actions",
  argument_field: "approval.request/actions/fields",
  question: "question.request/questions",
  option: "question.request/questions/options",
  answer: "question.update/answers",
  form: "form.request/schema",
  form_field: "form.request/schema/fields",
  choice: "form.request/schema/fields/options",
};

function shapeAt(path: string): Schema {
  const [type = "", ...fields] = path.split("/");
  let schema = EVENTS[type] ?? {};
  for (const field of fields) {
    schema = schema.properties?.[field] ?? {};
    schema = schema.items ?? schema.anyOf?.[0] ?? schema;
  }
  return schema;
}

/** The kind of value that a schema requires, as PROTOCOL.md names it. */
function kindOf(schema: Schema): string {
  const { minLength: least, maxLength: most, minItems, maxItems } = schema;
  if (schema.anyOf !== undefined)
    return schema.anyOf.map((s) => (s.type === "null" ? "null" : kindOf(s))).join(" or ");
  if (schema.enum !== undefined) {
    return schema.enum.join() === TURN_ERROR_CODES.join() ? "turn error" : `one of ${schema.enum.join(", ")}`;
  }
  switch (schema.type) {
    case undefined:
      return "any JSON";
    case "string":
      if (least === 1 && most === 256) return "id";
      if (least !== undefined) return `text of ${least}`;
      return most === undefined ? "text" : most === 500 ? "label" : `text, at most ${most}`;
    case "integer":
      return schema.minimum === 0 ? "count" : "count from 1";
    case "array": {
      const limits = minItems === undefined ? `, at most ${maxItems}` : `, ${minItems} to ${maxItems}`;
      return `list of ${kindOf(schema.items ?? {})}${maxItems === undefined ? "" : limits}`;
    }
    case "object": {
      const same = (path: string): boolean => listFields(shapeAt(path)).join() === listFields(schema).join();
      if (schema.properties === undefined) return "object";
      return Object.entries(SHAPES).find(([, path]) => same(path))?.[0] ?? "a shape without a name";
    }
    default:
      return schema.type;
  }
}

function kindsOf(name: string, schema: Schema, without: readonly string[]): string[] {
  const kinds = Object.values(schema.properties ?? {}).map(kindOf);
  const names = listFields(schema).map((field, n) => [field, kinds[n]] as const);
  const own = names.filter(([field]) => !without.includes(field.replace("?", "")));
  return own.map(([field, kind]) => `${name} ${field} ${kind}`);
}

export const checkFields: Check = (text) => {
  const scopes = [...readScopes(text).values()];
  const written = readRows(text, "field").flatMap(([field, events = "", kind]) =>
    readCode(events).map((type) => `${type} ${bare(field)} ${bare(kind)}`),
  );
  const real = Object.entries(EVENTS).flatMap(([type, schema]) => {
    const all = listFields(schema);
    const scope = scopes
      .filter((fields) => fields.every((field) => all.includes(field)))
      .toSorted((a, b) => b.length - a.length);
    return kindsOf(type, schema, [...ENVELOPE, ...(scope[0] ?? [])]);
  });
  const shapes = readRows(text, "shape").map((row) => row.slice(0, 3).map(bare).join(" "));
  const realShapes = Object.entries(SHAPES).flatMap(([name, path]) => kindsOf(name, shapeAt(path), []));
  return [...bothWays("field", written, real), ...bothWays("shape", shapes, realShapes)];
};

export const checkRules: Check = (text) =>
  bothWays(
    "rule",
    readRows(text, "rule").map(([rule, meaning]) => `${rule} ${meaning}`),
    Object.entries(EVENT_RULES).map(([rule, meaning]) => `${rule} ${meaning}`),
  );

/** Checks that the guarantees are numbered without gaps and each names a test. Takes the text of both documents. */
export const checkGuarantees: Check = (text) => {
  const guarantees = readRows(text, "guarantee");
  const numbers = ["F", "X"].flatMap((letter) =>
    guarantees
      .filter(([id]) => id?.startsWith(letter))
      .map((_, n) => `${letter}${String(n + 1).padStart(2, "0")}`),
  );
  const untested = guarantees.filter(([, , tests = ""]) => readLinks(tests).length === 0);
  return [
    ...bothWays(
      "guarantee",
      guarantees.map(([id = ""]) => id),
      numbers,
    ),
    ...untested.map(([id]) => `${id} names no test`),
  ];
};

export const checkErrors: Check = (text) =>
  bothWays(
    "error",
    readRows(text, "error").map((row) => row.map(bare).join(" | ")),
    Object.entries(ERRORS).map(([code, { number, about, can_retry, meaning }]) =>
      [code, number, about, can_retry ? "yes" : "no", meaning].join(" | "),
    ),
  );

/** The names of the fields of all objects. */
function fieldsOf(objects: readonly object[]): string[] {
  return objects.flatMap((object) => Object.keys(object));
}

export const checkStates: Check = (text) => {
  const states = statesOf(logOf(text)).map((state) => snapshot(state));
  const turns = states.flatMap((state) => state.turns);
  const names = (table: string): string[] => readRows(text, table).map(([field]) => bare(field));
  const items = turns.flatMap((turn) => turn.items.filter((item) => item !== null));
  const bases = new Map(readRows(text, "base").map(([base = "", fields = ""]) => [base, readCode(fields)]));
  const parts = items.flatMap((item) => (item.kind === "tool_result" ? item.parts : []));
  const written = readRows(text, "kind").flatMap(([kind, has = "", own = ""]) => {
    const base = has.split(" ").flatMap((name) => bases.get(name) ?? ["?"]);
    return ["kind", ...base, ...readCode(own)].map((field) => `${bare(kind)}.${field.replace("?", "")}`);
  });
  const real = items.flatMap((item) => Object.keys(item).map((field) => `${item.kind}.${field}`));
  return [
    ...bothWays("session", names("session"), fieldsOf(states)),
    ...bothWays("turn", names("turn"), fieldsOf(turns)),
    ...bothWays("run", names("run"), fieldsOf(turns.flatMap((turn) => turn.runs))),
    ...bothWays("user message", names("user message"), fieldsOf(states.flatMap((state) => state.waiting))),
    ...bothWays("item", written, real),
    ...bothWays("part", names("part"), fieldsOf(parts)),
    ...bothWays(
      "transition",
      readRows(text, "interaction").flatMap(([kind, from, to = ""]) =>
        readCode(to).map((next) => `${kind} ${bare(from)} ${next}`),
      ),
      Object.entries(TRANSITIONS).flatMap(([kind, all]) =>
        Object.entries(all).flatMap(([from, to]) => to.map((next) => `${kind} ${from} ${next}`)),
      ),
    ),
  ];
};
