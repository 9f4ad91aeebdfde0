/**
 * References as the model reads them: wrapped in lines that name their id, collected by run, numbered by turn. An id is
 * taken when a call's outcome is about to be journaled and is told only after that, so a takeover, which counts on from
 * the journal, neither gives an id twice nor changes one. Pure.
 */
import type { Json } from "@turnstream/protocol";
import {
  type ContentPart,
  contentParts,
  type KeptContent,
  plainText,
} from "../../session/history/model-content.ts";
import { CALL_PREFIX, type CallFact } from "./journal-entries.ts";

/** As 001 has it. */
const TAGS = ["added_by_reference_manager"] as const;
/** What a page says must not pass for the end of its item, or for another item. */
const TAG = /<(?=\/?\s*referencable-item)/gi;

export interface CitableText {
  readonly content: Json;
  readonly title?: string;
  readonly url?: string;
}

export function wrap(id: number, { content, title, url }: CitableText, maxChars: number): ContentPart[] {
  const head = [
    ...(title === undefined ? [] : [`Title: ${title}`]),
    ...(url === undefined ? [] : [`URL: ${url}`]),
  ];
  const whole = unforged([...head, plainText(content)].join("\n"));
  const text = whole.length <= maxChars ? whole : `${whole.slice(0, maxChars)}\n[Cut here.]`;
  return [
    { type: "text", text: `<referencable-item>\nID: ${id}`, id, tags: TAGS },
    { type: "text", text, id },
    { type: "text", text: "</referencable-item>", id, tags: TAGS },
  ];
}

/** What a result is to the model while its turn runs. */
export function modelText(kept: KeptContent): string {
  return contentParts(kept)
    .map(({ text }) => text)
    .join("\n");
}

/** Whatever a text says, nothing in it passes for an item that was given. */
export function unforged(text: string): string {
  return text.replaceAll(TAG, "&lt;");
}

/** The same for content of any shape. */
export function unforgedContent(content: Json): Json {
  if (typeof content === "string") return unforged(content);
  const text = plainText(content);
  const plain = unforged(text);
  return plain === text ? content : (JSON.parse(plain) as Json);
}

/** The same for later turns: their ids begin anew, so nothing of these may look like one. */
export function unwrapped(pool: readonly ContentPart[]): string {
  return pool
    .filter(({ tags }) => tags === undefined)
    .map(({ text }) => text)
    .join("\n");
}

export function idsOf(pool: readonly ContentPart[]): Set<number> {
  return new Set(pool.flatMap(({ id }) => (id === undefined ? [] : [id])));
}

/** What one run was given, its sub-agents' references included. */
export class RunPool {
  readonly #items = new Map<number, ContentPart[]>();

  get isEmpty(): boolean {
    return this.#items.size === 0;
  }

  readonly has = (id: number): boolean => this.#items.has(id);

  add(pool: readonly ContentPart[] = []): void {
    for (const id of idsOf(pool)) {
      const parts = pool.filter((part) => part.id === id);
      if (!this.#items.has(id)) this.#items.set(id, parts);
    }
  }

  /**
   * What is handed on with an answer: as much as fits, what the answer cites before the rest, by their ids.
   * @param cited the ids that the answer cites
   */
  handOn(cited: ReadonlySet<number>, maxChars: number): ContentPart[] {
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
export class ReferenceIds {
  #last = 0;

  static from(journal: ReadonlyMap<string, Json>): ReferenceIds {
    const ids = new ReferenceIds();
    for (const [key, value] of journal)
      if (key.startsWith(CALL_PREFIX)) ids.startAfter(lastId(value as unknown as CallFact));
    return ids;
  }

  startAfter(id: number): void {
    this.#last = Math.max(this.#last, id);
  }

  next(): number {
    return ++this.#last;
  }
}

export function lastId({ pool = [] }: Pick<KeptContent, "pool">): number {
  return Math.max(0, ...idsOf(pool));
}
