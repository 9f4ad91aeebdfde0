/**
 * `attachReferences` makes the items that a tool found citable: each gets an id, a wrapped text for the model and parts
 * for the user. Pure except for allocating ids.
 *
 * Invariant: the model gets about `maxChars`; only the last item can exceed it, by a few hundred characters. Items that
 * don't fit are left out, and the result states how many. Only web links become URLs.
 */
import type { Reference } from "@turnstream/protocol";
import { truncateText, MAX_LABEL, MAX_PREVIEW } from "@turnstream/protocol/writer";
import { type ContentPart, plainText } from "../../session/history/model-content.ts";
import type { ToolCallRecord, ResultPart } from "../run/journal-entries.ts";
import type { StoredItem } from "./offload-output.ts";
import { escapeReferenceTags, type ReferenceIdAllocator } from "../run/reference-pool.ts";

const MAX_URL = 4_096;
/** Less text of an item than this is useless to the model. */
const LEAST = 200;
const MAX_PARTS = 5;
/** The tag that the `tasks` dialect expects on these parts. */
const TAGS = ["added_by_reference_manager"] as const;

export function attachReferences(
  record: ToolCallRecord,
  items: readonly StoredItem[],
  ids: ReferenceIdAllocator,
  maxChars: number,
): ToolCallRecord {
  if (items.length === 0) return record;
  const pool: ContentPart[] = [];
  const blocks: ResultPart[] = [];
  let left = maxChars - plainText(record.content).length;
  let given = 0;
  for (const item of items) {
    const size = plainText(item.content).length;
    if (left < Math.min(size, LEAST)) break;
    const reference = referenceTo(ids.next(), item);
    const parts = wrapReference(reference, plainText(item.content), Math.max(left, LEAST));
    left -= parts.reduce((sum, { text }) => sum + text.length, 0);
    pool.push(...parts);
    blocks.push(...shownOf(item).map((block) => ({ ...block, reference })));
    given++;
  }
  const texts =
    record.preview === "" ? blocks.flatMap((block) => (block.type === "text" ? block.text : [])) : [];
  return {
    ...record,
    content: given === items.length ? record.content : leftOut(record.content, items.length - given),
    preview: record.preview === "" ? truncateText(texts.join("\n"), MAX_PREVIEW) : record.preview,
    pool,
    blocks: [...record.blocks, ...blocks],
  };
}

function wrapReference({ id, title, url }: Reference, content: string, maxChars: number): ContentPart[] {
  const head = [title && `Title: ${title}`, url && `URL: ${url}`].filter((line) => line !== undefined);
  const whole = escapeReferenceTags([...head, content].join("\n"));
  const text = whole.length <= maxChars ? whole : `${whole.slice(0, maxChars)}\n[Cut here.]`;
  return [
    { type: "text", text: `<referencable-item>\nID: ${id}`, id, tags: TAGS },
    { type: "text", text, id },
    { type: "text", text: "</referencable-item>", id, tags: TAGS },
  ];
}

function referenceTo(id: number, { title, url }: StoredItem): Reference {
  return {
    id,
    ...(title === undefined || title === "" ? {} : { title: truncateText(title, MAX_LABEL) }),
    // The URL comes from a tool or a website, and users open it: only allow web links.
    ...(url !== undefined && /^https?:\/\//i.test(url) && url.length <= MAX_URL ? { url } : {}),
  };
}

/** Returns at least one part, because users find a cited item by its parts. */
function shownOf({ blocks = [], content, title }: StoredItem): readonly ResultPart[] {
  if (blocks.length > 0) return blocks.slice(0, MAX_PARTS);
  const text = truncateText(plainText(content), MAX_PREVIEW);
  return [{ type: "text", text: text === "" ? (title ?? "") : text }];
}

function leftOut(content: ToolCallRecord["content"], count: number): string {
  const note = `[${count} more items are left out: they don't fit.]`;
  const text = plainText(content);
  return text === "" ? note : `${text}\n${note}`;
}
