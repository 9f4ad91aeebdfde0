/** What the built-in tools found, item by item, so that the answer can cite it. Pure. */
import type { ToolOutput } from "../define/tool.ts";

export interface CitedItem {
  /** For the model. */
  readonly content: string;
  readonly title: string;
  readonly url?: string;
  /** For people, in a few words. */
  readonly shown: string;
}

/** @param note what the model is told besides */
export function toCitations(items: readonly CitedItem[], note: string): ToolOutput {
  return {
    content: note,
    references: items.map(({ shown, ...item }) => ({ ...item, blocks: [{ type: "text", text: shown }] })),
  };
}
