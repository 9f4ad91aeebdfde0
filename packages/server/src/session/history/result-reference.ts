/**
 * `toResultReference` replaces what the journal and the event of a tool result have in common by a reference to the
 * event, and `resolveResult` returns the whole record again. Pure.
 *
 * Invariant: resolving the reference of a record with the same block returns an equal record. A reference is written
 * with the commit that archives the event or later, so that the block is there. Fields that differ from the event stay
 * in the reference. `pool` always does unless it is empty, because no event has it.
 */
import { isDeepStrictEqual } from "node:util";
import type { Json, ToolResultBlock } from "@turnstream/protocol";
import { asJsonObject, isJsonObject, type JsonObject } from "../../util/json.ts";

/** What the event does not have, and how its preview is read as the content for the model. */
type ResultReference = JsonObject & { readonly event: "text" | "json" };

/** Fields that are nearly always the same in a result, and that no event has. */
const DEFAULTS: JsonObject = { pool: [], parts: 0, thought: null, ending: null };

/**
 * @param record the outcome of a call, as the runtime journals it
 * @param block the result, as it is archived with the record
 */
export function toResultReference(record: Json, block: ToolResultBlock): Json {
  const whole = asJsonObject(record);
  const event = typeof whole["content"] === "string" ? "text" : "json";
  const shared = sharedFields(block, event, Number(whole["parts"]));
  const own = Object.entries(whole).filter(([name, value]) => !isDeepStrictEqual(shared[name], value));
  return { event, ...Object.fromEntries(own) };
}

/**
 * Returns the reference of a record that the event has as a whole. A content that is not a text is shown as JSON with
 * line breaks.
 */
export function referenceTo({ preview }: ToolResultBlock): Json {
  const content = parseJson(preview);
  const isJson =
    content !== null && typeof content !== "string" && JSON.stringify(content, null, 1) === preview;
  return { event: isJson ? "json" : "text" };
}

export function isResultReference(stored: Json): stored is ResultReference {
  return isJsonObject(stored) && "event" in stored;
}

/** Returns true for a reference to an event that has the whole record. */
export function isWholeReference(stored: Json): boolean {
  return isResultReference(stored) && Object.keys(stored).length === 1;
}

/**
 * @param block the result of the same call; undefined if the turn has none
 * @returns undefined for a reference to a result that was superseded with its call
 */
export function resolveResult(stored: Json, block: ToolResultBlock | undefined): Json | undefined {
  if (!isResultReference(stored)) return stored;
  if (block === undefined) return undefined;
  const { event, ...own } = stored;
  return { ...sharedFields(block, event, Number(own["parts"] ?? 0)), ...own };
}

function sharedFields(block: ToolResultBlock, event: "text" | "json", parts: number): JsonObject {
  const { status, preview, artifact, results, whole, usage, structured } = block;
  const blocks = block.parts.slice(parts).map(({ media, data, reference }) => ({
    ...(media === "text" ? { type: "text", text: data } : { type: "image", url: data }),
    ...(reference === null ? {} : { reference }),
  }));
  const content = event === "text" ? preview : parseJson(preview);
  const published = structured === undefined ? {} : { structured };
  return { ...DEFAULTS, status, content, preview, blocks, artifact, ...published, results, whole, usage };
}

/** A preview that was truncated is not JSON. */
function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}
