/**
 * `describeFrame` returns an event or a frame of any dialect as one line: time, type and fields. Pure.
 * Invariant: a line has no line break and no control character, whatever the content is. On a terminal it fits into one
 * row.
 */
import { type Styles, toPrintable } from "../styles.ts";

export interface DescribeOptions {
  readonly styles: Styles;
  /** Null if the output is not a terminal. */
  readonly columns: number | null;
}

/** Where no terminal limits a line. */
const MAX_CHARS = 500;
const TIME_CHARS = 12;
const TYPE_CHARS = 20;
/** Positions and versions: the order of the lines shows the position. */
const OMITTED = new Set(["id", "v", "at", "type", "event_id", "timestamp", "session", "session_id"]);

export function describeFrame(at: number, frame: object, { styles, columns }: DescribeOptions): string {
  const fields = frame as Readonly<Record<string, unknown>>;
  const type = frameType(fields);
  const time = new Date(at).toISOString().slice(11, 11 + TIME_CHARS);
  const label = toPrintable(type).padEnd(TYPE_CHARS);
  const left = (columns ?? MAX_CHARS) - TIME_CHARS - label.length - 3;
  const text = toPrintable(formatFields(fields), Math.max(left, 0));
  return `${styles.dim(time)}  ${colorFor(type, styles)(label)} ${text}`.trimEnd();
}

function frameType(fields: Readonly<Record<string, unknown>>): string {
  const named = [fields["type"], fields["event"], fields["object"]].find(
    (value) => typeof value === "string",
  );
  return named === undefined ? "frame" : named;
}

/** Short ids, so that the content is visible. */
function formatFields(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .filter(([name, value]) => !OMITTED.has(name) && value !== null && value !== undefined)
    .map(([name, value]) => `${name}=${formatValue(value)}`)
    .join(" ");
}

const UUID = /^([0-9a-f]{8})-[0-9a-f-]{27}$/;

function formatValue(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return UUID.exec(value)?.[1] ?? (/^[\w.:/-]+$/.test(value) ? value : JSON.stringify(value));
}

/** By the kind of event, as all dialects name it. */
function colorFor(type: string, styles: Styles): (text: string) => string {
  if (/error|fail/.test(type)) return styles.red;
  if (/approval|question|form|payment|interaction/.test(type)) return styles.bold;
  if (/tool|function/.test(type)) return styles.cyan;
  if (/think|reason/.test(type)) return styles.magenta;
  if (/text|message|content/.test(type)) return styles.green;
  return styles.blue;
}
