/**
 * `Ledger` records what was written to one session's log and compares the log with it by content. Every event contains
 * its writer and its order, so a loss, a duplicate or an incomplete batch shows independently of the log's own
 * positions. Does not write to a log.
 */
import type { Cursor } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { LogEntry } from "@turnstream/server/internal";

export interface Ack {
  readonly cursor: Cursor;
  readonly text: string;
}

/** How often each forbidden thing was found. Whether `lost` is allowed depends on the scenario. */
export interface Findings {
  readonly lost: readonly Ack[];
  /** Numbers that a `Writer` had flushed and that are missing. */
  readonly lostTexts: number;
  readonly gaps: number;
  readonly duplicates: number;
  readonly torn: number;
  /** Entries that were never acknowledged, although their writer repeated the append until it had an answer. */
  readonly strangers: number;
}

export interface WriterRecord {
  readonly name: string;
  /** How many numbers were written, and how many of them a flush has confirmed. */
  written: number;
  flushed: number;
  /** How many of them the last comparison found in the log. */
  found: number;
}

/** The text of one event of a batch: writer, batch, number in the batch, size of the batch. */
export function makeText(writer: string, counter: number, n: number, size: number): string {
  return `${writer}|${counter}|${n}|${size}`;
}

export function createTitle(text: string): EventDraft {
  return { type: "session.update", title: text };
}

/** The text that identifies an entry. */
export function readText({ event }: LogEntry): string {
  if (event.type === "session.update") return event.title;
  return event.type === "text.delta" ? `${event.block}~${event.text}` : event.type;
}

export class Ledger {
  /** Everything up to here was compared and is correct. */
  checked: Cursor = "0-0";
  acks: Ack[] = [];
  readonly writers = new Map<string, WriterRecord>();
  readonly #orders = new Map<string, number>();

  acknowledge(epoch: number, first: number, texts: readonly string[]): void {
    for (const [n, text] of texts.entries()) this.acks.push({ cursor: `${epoch}-${first + n}`, text });
  }

  writerRecord(name: string): WriterRecord {
    const record = { name, written: 0, flushed: 0, found: 0 };
    this.writers.set(name, record);
    return record;
  }

  /** @param entries the whole log after `checked`, while there are no writes */
  compare(entries: readonly LogEntry[]): Findings {
    const texts = new Map(entries.map((entry) => [entry.cursor, readText(entry)]));
    const known = new Set(this.acks.map((ack) => ack.text));
    const lost = this.acks.filter((ack) => texts.get(ack.cursor) !== ack.text);
    const counts = { gaps: 0, duplicates: 0, torn: 0, strangers: 0 };
    let [epoch = 0, seq = 0] = this.checked.split("-").map(Number);
    let before = "";
    for (const entry of entries) {
      const text = readText(entry);
      if (entry.seq !== seq + 1 || entry.epoch < epoch) counts.gaps++;
      // Only a claim starts an epoch.
      if (entry.epoch !== epoch && text.includes("|")) counts.gaps++;
      [epoch, seq] = [entry.epoch, entry.seq];
      if (text.includes("~")) this.#compareWriter(text, counts);
      else if (text.includes("|")) this.#compareBatch(text, before, counts);
      if (!text.includes("~") && !known.has(text)) counts.strangers++;
      before = text;
    }
    const short = [...this.writers.values()].map(({ flushed, found }) => Math.max(0, flushed - found));
    return { lost, lostTexts: short.reduce((sum, n) => sum + n, 0), ...counts };
  }

  /** Continues after these entries. Forgets each `Writer` that no longer writes. */
  settle(entries: readonly LogEntry[], writerName: string | null): void {
    this.checked = entries.at(-1)?.cursor ?? this.checked;
    this.acks = [];
    for (const name of this.writers.keys()) if (name !== writerName) this.writers.delete(name);
  }

  #compareBatch(text: string, before: string, counts: { duplicates: number; torn: number }): void {
    const [writer = "", counter, n, size] = text.split("|");
    const order = Number(counter) * 100 + Number(n);
    if (order <= (this.#orders.get(writer) ?? -1)) counts.duplicates++;
    this.#orders.set(writer, order);
    if (Number(n) > 0 && before !== makeText(writer, Number(counter), Number(n) - 1, Number(size)))
      counts.torn++;
  }

  /** A `Writer` writes numbers that count up. */
  #compareWriter(text: string, counts: { duplicates: number; gaps: number }): void {
    const [name = "", numbers = ""] = text.split("~");
    const record = this.writers.get(name);
    if (record === undefined) return void counts.duplicates++;
    for (const word of numbers.split(";").slice(0, -1).map(Number)) {
      if (word <= record.found) counts.duplicates++;
      else if (word !== record.found + 1) counts.gaps++;
      record.found = Math.max(record.found, word);
    }
  }
}
