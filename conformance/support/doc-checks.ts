/**
 * Checks of PROTOCOL.md, part one: events, fields, rules, state and errors. A check takes the text and says
 * what is wrong with it. Reads the published JSON Schemas and the code; never the other documents.
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
import { checkEvent, EVENT_RULES, TRANSITIONS, TURN_ERROR_CODES } from "@turnstream/protocol/writer";
import { parseEvent } from "@turnstream/protocol/schema";
import { readCode, readFences, readJson, readLinks, readTables } from "./markdown.ts";
import { statesOf } from "./replay.ts";

/** What is wrong with a document; nothing, when it is true. */
export type Check = (text: string) => string[];

/** Compares what is written with what is so, both ways. */
export function bothWays(what: string, written: Iterable<string>, real: Iterable<string>): string[] {
  const [there, so] = [new Set(written), new Set(real)];
  const wrong = [...there].filter((x) => !so.has(x)).map((x) => `${what}: only written: ${x}`);
  return [...wrong, ...[...so].filter((x) => !there.has(x)).map((x) => `${what}: not written: ${x}`)];
}

/** The rows of all tables with this first column, code marks left in. */
export function readRows(text: string, name: string): (readonly string[])[] {
  const tables = readTables(text, name);
  if (tables.length === 0) throw new Error(`there is no table ${name}`);
  return tables.flat();
}

/** A cell without its marks of code. */
export const bare = (cell: string | undefined): string => (cell ?? "").replaceAll("`", "");

/** The JSON values of the fenced blocks with this mark. */
export function readExamples(text: string, mark: string): unknown[] {
  return readFences(text).flatMap(({ info, body }) => (info === `json ${mark}` ? readJson(body) : []));
}

/** The log that the examples of events make up. */
export const logOf = (text: string): SessionEvent[] => readExamples(text, "event") as SessionEvent[];

/** As much of JSON Schema as our schemas use. */
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

/** The published schemas of a set, by `type`. */
export function listSchemas(name: string): Record<string, Schema> {
  const url = new URL(`../../packages/protocol/schemas/${name}.json`, import.meta.url);
  return (JSON.parse(readFileSync(url, "utf8")) as { $defs: Record<string, Schema> }).$defs;
}

const EVENTS = listSchemas("events");
const ENVELOPE = ["v", "id", "at", "first", "type"];

/** The fields of an object, those that may be absent with a question mark. */
export function listFields(schema: Schema, without: readonly string[] = []): string[] {
  const fields = Object.keys(schema.properties ?? {}).filter((field) => !without.includes(field));
  return fields.map((field) => (schema.required?.includes(field) === true ? field : `${field}?`));
}

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

/** Where the examples stand beside a reader, and that each place has a row and an example. */
export const checkPlaces: Check = (text) => {
  const examples = readRows(text, "reader at").map((row) => row.map(bare));
  const wrong = examples.flatMap(([at = "", id = "", first = "-", type = "", place]) => {
    const last = parseCursor(at);
    if (last === null) return [`${at} is not a position`];
    const real = classifyEvent(last, { id, type, ...(first === "-" ? {} : { first: Number(first) }) });
    return real === place ? [] : [`${id} stands ${real} beside ${at}`];
  });
  const places = readRows(text, "place").map(([place]) => bare(place));
  return [
    ...wrong,
    ...bothWays(
      "place",
      places,
      examples.map((row) => row[4] ?? ""),
    ),
  ];
};

/** The fields that place an event, by the word in the column `on`. */
function placesOf(text: string): Map<string, string[]> {
  return new Map(readRows(text, "on").map(([on = "", fields = ""]) => [on, readCode(fields)]));
}

export const checkEvents: Check = (text) => {
  const places = placesOf(text);
  const written = readRows(text, "event").map(([event, on = "", own = "", description]) => {
    const fields = [...(places.get(on) ?? ["?"]), ...readCode(own)].toSorted();
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

/** Shapes that stand inside fields of events, and where one of each is found. */
const SHAPES: Readonly<Record<string, string>> = {
  usage: "turn.end/usage",
  file: "message.add/files",
  annotation: "text.delta/annotations",
  reference: "tool_result.delta/reference",
  artifact: "tool_result.end/artifact",
  whole: "tool_result.end/whole",
  action: "approval.request/actions",
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

/** What kind of value a schema asks for, in the words of PROTOCOL.md. */
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
  const places = [...placesOf(text).values()];
  const written = readRows(text, "field").flatMap(([field, of = "", is]) =>
    readCode(of).map((type) => `${type} ${bare(field)} ${bare(is)}`),
  );
  const real = Object.entries(EVENTS).flatMap(([type, schema]) => {
    const all = listFields(schema);
    const place = places
      .filter((p) => p.every((f) => all.includes(f)))
      .toSorted((a, b) => b.length - a.length);
    return kindsOf(type, schema, [...ENVELOPE, ...(place[0] ?? [])]);
  });
  const shapes = readRows(text, "shape").map((row) => row.slice(0, 3).map(bare).join(" "));
  const realShapes = Object.entries(SHAPES).flatMap(([name, path]) => kindsOf(name, shapeAt(path), []));
  return [...bothWays("field", written, real), ...bothWays("shape", shapes, realShapes)];
};

export const checkRules: Check = (text) => {
  const written = readRows(text, "rule").map(([rule, meaning]) => `${rule} ${meaning}`);
  const promises = readRows(text, "promise");
  const numbers = ["F", "X"].flatMap((letter) =>
    promises
      .filter(([id]) => id?.startsWith(letter))
      .map((_, n) => `${letter}${String(n + 1).padStart(2, "0")}`),
  );
  const proofs = promises.filter(([, , proof = ""]) => readLinks(proof).length === 0);
  return [
    ...bothWays(
      "rule",
      written,
      Object.entries(EVENT_RULES).map(([rule, meaning]) => `${rule} ${meaning}`),
    ),
    ...bothWays(
      "promise",
      promises.map(([id = ""]) => id),
      numbers,
    ),
    ...proofs.map(([id]) => `${id} is proved nowhere`),
  ];
};

export const checkErrors: Check = (text) =>
  bothWays(
    "error",
    readRows(text, "word").map((row) => row.map(bare).join(" | ")),
    Object.entries(ERRORS).map(([word, { number, about, can_retry, meaning }]) =>
      [word, number, about, can_retry ? "yes" : "no", meaning].join(" | "),
    ),
  );

/** The fields that things have, all together. */
function seen(things: readonly object[]): string[] {
  return things.flatMap((thing) => Object.keys(thing));
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
    ...bothWays("session", names("session"), seen(states)),
    ...bothWays("turn", names("turn"), seen(turns)),
    ...bothWays("run", names("run"), seen(turns.flatMap((turn) => turn.runs))),
    ...bothWays("user message", names("user message"), seen(states.flatMap((state) => state.waiting))),
    ...bothWays("item", written, real),
    ...bothWays("part", names("part"), seen(parts)),
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
