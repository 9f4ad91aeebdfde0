/**
 * `ReferencePool` collects the items that a run may cite, and `ReferenceIdAllocator` numbers those of a turn.
 *
 * Invariant: an id is allocated before its call is journaled and written after that. A takeover continues counting from
 * the journal, so no id is used twice or changes. Reference tags in content are escaped, so that a page can't end its
 * item or fake another one.
 */
import type { Json } from "@turnstream/protocol";
import {
  type ContentPart,
  type ModelContent,
  plainText,
  textParts,
} from "../../session/history/model-content.ts";
import { CALL_PREFIX } from "../../engine/attempt/journal-keys.ts";
import { type ToolCallRecord } from "./journal-entries.ts";

/** Escaped in content, so that a page can't end its item or fake another one. */
const TAG = /<(?=\/?\s*referencable-item)/gi;

/** Returns a result as the model reads it while its turn runs. */
export function modelText(content: ModelContent): string {
  return textParts(content)
    .map(({ text }) => text)
    .join("\n");
}

/** Escapes reference tags, so that no part of a text looks like an item. */
export function escapeReferenceTags(text: string): string {
  return text.replaceAll(TAG, "&lt;");
}

/** Like `escapeReferenceTags`, for content of any shape. */
export function escapeReferenceTagsIn(content: Json): Json {
  if (typeof content === "string") return escapeReferenceTags(content);
  const text = plainText(content);
  const plain = escapeReferenceTags(text);
  return plain === text ? content : (JSON.parse(plain) as Json);
}

/** Returns the content without ids, for later turns. Ids restart in every turn, so old ids must not appear in them. */
export function unwrapReferences(pool: readonly ContentPart[]): string {
  return pool
    .filter(({ tags }) => tags === undefined)
    .map(({ text }) => text)
    .join("\n");
}

export function referenceIds(pool: readonly ContentPart[]): Set<number> {
  return new Set(pool.flatMap(({ id }) => (id === undefined ? [] : [id])));
}

/** The references that one run was given, including those of its sub-agents. */
export class ReferencePool {
  readonly #items = new Map<number, ContentPart[]>();

  get isEmpty(): boolean {
    return this.#items.size === 0;
  }

  readonly has = (id: number): boolean => this.#items.has(id);

  add(pool: readonly ContentPart[]): void {
    for (const id of referenceIds(pool)) {
      const parts = pool.filter((part) => part.id === id);
      if (!this.#items.has(id)) this.#items.set(id, parts);
    }
  }

  /**
   * Returns the references to pass on with an answer, ordered by id, within `maxChars`. Cited ones take precedence.
   * @param cited ids that the answer cites
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

/** Allocates the reference ids of one turn. */
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

export function lastId({ pool }: Pick<ModelContent, "pool">): number {
  return Math.max(0, ...referenceIds(pool));
}
