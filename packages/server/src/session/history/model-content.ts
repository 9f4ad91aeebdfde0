/**
 * `ModelContent` is the stored result of a call for the model; `modelContentParts` returns it in the shape of the
 * `tasks` dialect. Pure.
 *
 * Invariant: wrapped references come before the remaining content. The runtime writes it to journals and
 * `readTurnResult` reads it, so fields that old journals lack must stay optional.
 */
import type { Json } from "@turnstream/protocol";

export interface ContentPart {
  readonly type: "text";
  readonly text: string;
  /** The id of the reference that the part belongs to. */
  readonly id?: number;
  readonly tags?: readonly string[];
}

export interface ModelContent {
  readonly status: "success" | "error";
  /** The tool's content for the model, without references. */
  readonly content: Json;
  /** The wrapped references of the result. Absent in old journals. */
  readonly pool?: readonly ContentPart[];
}

export function modelContentParts({ content, pool = [] }: ModelContent): ContentPart[] {
  const text = plainText(content);
  return [...pool, ...(text === "" ? [] : [{ type: "text" as const, text }])];
}

export function plainText(content: Json): string {
  return typeof content === "string" ? content : JSON.stringify(content);
}
