/**
 * References as the model reads them: wrapped in lines that name their id, collected by run, numbered by turn. An id is
 * taken when a call's outcome is about to be journaled and is told only after that, so a takeover, which counts on from
 * the journal, neither gives an id twice nor changes one. Pure.
 */
import type { Json } from "@turnstream/protocol";
import {
  type ContentPart,
  modelContentParts,
  type ModelContent,
  plainText,
} from "../../session/history/model-content.ts";
import { CALL_PREFIX, type ToolCallRecord } from "./journal-entries.ts";

/** As 001 has it. */
const TAGS = ["added_by_reference_manager"] as const;
/** What a page says must not pass for the end of its item, or for another item. */
const TAG = /<(?=\/?\s*referencable-item)/gi;

export interface CitableText {
  readonly content: Json;
  readonly title?: string;
  readonly url?: string;
}

export function wrapReference(
  id: number,
  { content, title, url }: CitableText,
  maxChars: number,
): ContentPart[] {
  const head = [
    ...(title === undefined ? [] : [`Title: ${title}`]),
    ...(url === undefined ? [] : [`URL: ${url}`]),
  ];
  const whole = escapeReferenceTags([...head, plainText(content)].join("\n"));
  const text = whole.length <= maxChars ? whole : `${whole.slice(0, maxChars)}\n[Cut here.]`;
  return [
    { type: "text", text: `<referencable-item>\nID: ${id}`, id, tags: TAGS },
    { type: "text", text, id },
    { type: "text", text: "</referencable-item>", id, tags: TAGS },
  ];
}

/** What a result is to the model while its turn runs. */
export function modelText(content: ModelContent): string {
  return modelContentParts(content)
    .map(({ text }) => text)
    .join("\n");
}

/** Whatever a text says, nothing in it passes for an item that was given. */
export function escapeReferenceTags(text: string): string {
  return text.replaceAll(TAG, "&lt;");
}

/** The same for content of any shape. */
export function escapeReferenceTagsIn(content: Json): Json {
  if (typeof content === "string") return escapeReferenceTags(content);
  const text = plainText(content);
  const plain = escapeReferenceTags(text);
  return plain === text ? content : (JSON.parse(plain) as Json);
}

/** The same for later turns: their ids begin anew, so nothing of these may look like one. */
export function unwrapReferences(pool: readonly ContentPart[]): string {
  return pool
    .filter(({ tags }) => tags === undefined)
    .map(({ text }) => text)
    .join("\n");
}

export function referenceIds(pool: readonly ContentPart[]): Set<number> {
  return new Set(pool.flatMap(({ id }) => (id === undefined ? [] : [id])));
}

/** What one run was given, its sub-agents' references included. */
export class ReferencePool {
  readonly #items = new Map<number, ContentPart[]>();

  get isEmpty(): boolean {
    return this.#items.size === 0;
  }

  readonly has = (id: number): boolean => this.#items.has(id);

  add(pool: readonly ContentPart[] = []): void {
    for (const id of referenceIds(pool)) {
      const parts = pool.filter((part) => part.id === id);
      if (!this.#items.has(id)) this.#items.set(id, parts);
    }
  }

  /**
   * What is handed on with an answer: as much as fits, what the answer cites before the rest, by their ids.
   * @param cited the ids that the answer cites
   */
  exportCited(cited: ReadonlySet<number>, maxChars: number): ContentPart[] {
    const ids = [...this.#items.keys()].toSorted((a, b) => a - b);
    const wanted = [...ids.filter((id) => cited.has(id)), ...ids.filter((id) => !cited.has(id))];
    const fitting = new Set<number>();
    let left = maxChars;
    for (const id of wanted) {
      const size = (this.#items.get(id) ?? []).reduce((sum, { text }) => sum + text.length + 1, 0);
      if (size > left) continue;
      left -= size;
      fitting.add(id);
    }
    return ids.filter((id) => fitting.has(id)).flatMap((id) => this.#items.get(id) ?? []);
  }
}

/** The ids of one turn. */
export class ReferenceIdAllocator {
  #last = 0;

  static from(journal: ReadonlyMap<string, Json>): ReferenceIdAllocator {
    const ids = new ReferenceIdAllocator();
    for (const [key, value] of journal)
      if (key.startsWith(CALL_PREFIX)) ids.startAfter(lastId(value as unknown as ToolCallRecord));
    return ids;
  }

  startAfter(id: number): void {
    this.#last = Math.max(this.#last, id);
  }

  next(): number {
    return ++this.#last;
  }
}

export function lastId({ pool = [] }: Pick<ModelContent, "pool">): number {
  return Math.max(0, ...referenceIds(pool));
}
