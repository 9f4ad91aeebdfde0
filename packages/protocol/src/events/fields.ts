/**
 * `envelope`, `onBlock` and the other field groups are shared by the schemas of events. Declares no events.
 * Invariant: a change here changes every event that uses the field, and its published JSON Schema. `whole.url` is set
 * on delivery and never stored in the log. Commands use `parsedJson` and `boundedList`, so that validating a command of
 * a client takes little time, whatever its shape.
 */
import { z } from "zod";
import { CURSOR_PATTERN } from "../cursor.ts";
import { canonicalLocale, LOCALE_PATTERN, MAX_LOCALE } from "../locale.ts";
import type { Json } from "../json.ts";
import { MAX_LABEL } from "../limits.ts";
import { SCHEMA_VERSION } from "../version.ts";

export const id = z.string().min(1).max(256);
export const label = z.string().max(MAX_LABEL);
export const count = z.int().nonnegative();
export const milliseconds = z.int().nonnegative();
export const json: z.ZodType<Json> = z.json();
/**
 * Any JSON value, accepted as it is. Only for input that `JSON.parse` has produced: `json` checks each nested value,
 * which takes seconds for 2 MB.
 */
export const parsedJson = z
  .unknown()
  .refine((value) => value !== undefined, "a value is required") as unknown as z.ZodType<Json>;

/** A list whose extra items are not validated. Otherwise thousands of invalid items would make thousands of errors. */
export function boundedList<Item extends z.ZodType>(
  item: Item,
  { min, max }: { readonly min?: number; readonly max: number },
): z.ZodArray<Item> {
  const items = min === undefined ? z.array(item) : z.array(item).min(min);
  const cut = (value: unknown): unknown => (Array.isArray(value) ? value.slice(0, max + 1) : value);
  return z.preprocess(cut, items.max(max)) as unknown as z.ZodArray<Item>;
}
export const locale = z
  .string()
  .max(MAX_LOCALE)
  .regex(LOCALE_PATTERN)
  .refine((tag) => canonicalLocale(tag) !== null, "must be a BCP 47 language tag, such as zh-TW");
export const template = z
  .strictObject({
    code: z.string().min(1).max(100),
    params: z.record(z.string().max(100), z.union([label, z.number()])).exactOptional(),
  })
  .describe("the same text as code and parameters, for a client that shows it in its own language");

export const envelope = {
  v: z.literal(SCHEMA_VERSION).describe("schema version"),
  id: z.string().regex(CURSOR_PATTERN).describe("position in the session's log, `<epoch>-<seq>`"),
  at: milliseconds.describe("time of writing, in milliseconds since 1970"),
  first: z
    .int()
    .positive()
    .exactOptional()
    .describe("seq of the first event merged into this one by a replay"),
};

export const inTurn = { turn: id.describe("the turn: one answer to one user message") };
export const inRun = { ...inTurn, run: id.describe("the run: one agent working in the turn") };
export const place = {
  index: count.describe("number from the turn's counter, which numbers blocks and group markers together"),
};
export const onBlock = { ...inRun, block: id.describe("the block, unique in the turn"), ...place };

export const usage = z
  .strictObject({
    input_tokens: count,
    output_tokens: count,
    total_tokens: count,
    calls: count.describe("model calls"),
  })
  .describe("tokens used");

export const file = z.strictObject({
  url: z.string().max(4096),
  name: z.string().max(500).exactOptional(),
  media_type: z.string().max(200).exactOptional(),
  size: count.exactOptional(),
});

export const whole = z
  .strictObject({
    blob: id,
    size: count,
    media_type: z.string().max(200),
    url: z
      .string()
      .max(4096)
      .exactOptional()
      .describe("temporary download address; set on delivery, never stored in the log"),
  })
  .describe("where the whole content is stored if the event contains only a preview");
