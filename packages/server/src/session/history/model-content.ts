/**
 * What is kept of a call for the model, in the shape that 001 prints: the citable items that came with it, each between
 * two tagged parts, then the rest. Written by the runtime, read by whoever serves the end state of a turn. Pure.
 */
import type { Json } from "@turnstream/protocol";

export interface ContentPart {
  readonly type: "text";
  readonly text: string;
  /** The id of the reference that it belongs to. */
  readonly id?: number;
  readonly tags?: readonly string[];
}

export interface ModelContent {
  readonly status: "success" | "error";
  /** What the tool gave for the model beside its references. */
  readonly content: Json;
  /** The references that came with it, wrapped. A journal that is older than references says nothing of them. */
  readonly pool?: readonly ContentPart[];
}

export function modelContentParts({ content, pool = [] }: ModelContent): ContentPart[] {
  const text = plainText(content);
  return [...pool, ...(text === "" ? [] : [{ type: "text" as const, text }])];
}

export function plainText(content: Json): string {
  return typeof content === "string" ? content : JSON.stringify(content);
}
