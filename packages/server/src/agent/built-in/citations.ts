/**
 * `toCitations` turns the items that a built-in tool found into references, so that the answer can cite each of them.
 * Pure.
 *
 * Invariant: the model reads `content` and `note`; users see only `shown`, the title and the URL.
 */
import type { ToolOutput } from "../define/tool.ts";

export interface CitedItem {
  /** For the model. */
  readonly content: string;
  readonly title: string;
  readonly url?: string;
  /** A short text for the user. */
  readonly shown: string;
}

/** @param note additional text for the model */
export function toCitations(items: readonly CitedItem[], note: string): ToolOutput {
  return {
    content: note,
    references: items.map(({ shown, ...item }) => ({ ...item, blocks: [{ type: "text", text: shown }] })),
  };
}
