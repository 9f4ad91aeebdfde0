/**
 * `PRINTED` lists the examples of all five documents with the dialect that reads them, and `outlineTurn` describes a
 * turn in lines, for tests of the decoders and of the client.
 */
import { type Block, toolLabel, type Turn, type ViewItem, viewTurn } from "@turnstream/protocol";
import { DOCUMENT_000 } from "./document-000.ts";
import { DOCUMENT_001 } from "./document-001.ts";
import { DOCUMENT_002 } from "./document-002.ts";
import { DOCUMENT_003 } from "./document-003.ts";
import { DOCUMENT_004 } from "./document-004.ts";
import type { PrintedExample } from "./printed-example.ts";

export interface PrintedCase extends PrintedExample {
  readonly document: string;
  readonly dialect: "blocks" | "tasks" | "responses";
}

const casesOf = (
  document: string,
  dialect: PrintedCase["dialect"],
  examples: readonly PrintedExample[],
): PrintedCase[] => examples.map((example) => ({ document, dialect, ...example }));

export const PRINTED: readonly PrintedCase[] = [
  ...casesOf("000", "blocks", DOCUMENT_000),
  ...casesOf("001", "tasks", DOCUMENT_001),
  ...casesOf("002", "responses", DOCUMENT_002),
  ...casesOf("003", "blocks", DOCUMENT_003),
  ...casesOf("004", "blocks", DOCUMENT_004),
];

/** Returns one line per item. The items of a group start with a dash. */
export function outlineTurn(turn: Turn): string[] {
  return viewTurn(turn).flatMap((item) =>
    item.type === "group"
      ? [`group: ${item.header}`, ...item.items.map((inner) => `- ${outlineItem(inner)}`)]
      : [outlineItem(item)],
  );
}

function outlineItem(item: Exclude<ViewItem, { type: "group" }>): string {
  return item.type === "tool" ? `${toolLabel(item.call)}: ${item.status}` : outlineBlock(item.block);
}

function outlineBlock(block: Block): string {
  return "text" in block ? `${block.kind}: ${block.text}` : block.kind;
}
