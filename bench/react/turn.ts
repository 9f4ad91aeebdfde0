/**
 * `streamed` generates what the React bench shows: earlier turns, and W1 as a readable answer with headings, lists,
 * tables, code and citations. Runs in browsers.
 *
 * Invariant: deterministic, the same bytes on every run.
 */
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";
import type { SessionEvent } from "@turnstream/protocol";

const PIECES = [4, 5, 6, 5];
const CITATIONS = 6;
/** The page has rendered the whole answer when it contains this sentence. */
export const LAST_SENTENCE = "That is all for today.";

function sections(n: number): string {
  const price = 60_000 + n * 350;
  return [
    `## ${n + 1}. What moved VNM`,
    `The price **rose by ${(n % 7) + 0.4}%** to ${price} VND on *heavy* volume, while \`VN-Index\` fell. Three of the five largest funds bought, and foreign investors sold for the ${n + 2}th day; see [the exchange's page](https://example.com/vnm/${n}) for each trade.`,
    `- Revenue grew to ${n + 12} trillion VND, which is **above** what was expected\n- Margins were *flat*, for milk powder cost more\n  1. imports: ${n + 3}%\n  2. home: ${n + 1}%\n- Debt is at \`${n}.4\` times earnings`,
    `| quarter | revenue | margin |\n| --- | ---: | ---: |\n| Q1 | ${n + 10}.2 | 41% |\n| Q2 | ${n + 11}.8 | 40% |\n| Q3 | ${n + 13}.1 | 42% |`,
    `\`\`\`ts\nconst fair = revenue * ${n + 2} - debt;\nif (fair > price) console.log("cheap", fair);\n\`\`\``,
    `> A dividend of ${n + 1},500 VND is likely, ~~though~~ the board has not confirmed it.`,
  ].join("\n\n");
}

function cut(text: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += pieces.at(-1)?.length ?? 1)
    pieces.push(text.slice(at, at + (PIECES[pieces.length % PIECES.length] ?? 5)));
  return pieces;
}

function prose(count: number): string[] {
  const text = Array.from({ length: Math.ceil(count / 20) }, (_, n) => `${sections(n)}\n\n`).join("");
  return cut(text).slice(0, count);
}

/** Writes earlier turns: each has a question and an answer, and every fifth has thoughts and a call first. */
function history(log: LogWriter, turns: number): void {
  for (let n = 0; n < turns; n++) {
    log.begin(`And what about week ${n + 1}?`);
    if (n % 5 === 0) {
      log.openGroup().think([`First the figures of week ${n + 1}, then the reports.`]);
      const call = log.call("search_stock", [JSON.stringify({ symbol: "VNM", week: n + 1 })], {
        label: "Searching",
      });
      log.result(call, "search_stock", `VNM ${60_000 + n} VND`).closeGroup("Searched for VNM");
    }
    log.text([sections(n)], { final: true }).end();
  }
}

/** W1: 200 thinking deltas, 3 calls of 60 argument deltas with results of 2 kB, then the answer. */
function answer(log: LogWriter, deltas: number): void {
  log.begin("How is VNM doing?").openGroup().think(prose(200));
  for (let n = 0; n < 3; n++) {
    const args = JSON.stringify({ query: `VNM ${n} `.repeat(100).slice(0, 574), limit: 10 });
    const call = log.call("search_stock", args.match(/.{1,10}/g) ?? [], { label: `Searching ${n + 1} of 3` });
    const on = log.startResult(call, "search_stock");
    for (const part of [0, 1]) {
      const id = n * 2 + part + 1;
      const reference = { id, title: `Report ${id}`, url: `https://example.com/reports/${id}` };
      const data = `VNM ${80 + id},000 VND. `.repeat(60).slice(0, 1000);
      log.add({ type: "tool_result.delta", ...on, part, media: "text", data, reference, done: true });
    }
    log.endResult(on, `VNM 82,00${n} VND`);
  }
  log.closeGroup("Searched three times");
  const on = log.place();
  log.add({ type: "text.start", ...on, part: false });
  const ending = cut(`\n\n${LAST_SENTENCE}`);
  let length = 0;
  for (const [n, piece] of [...prose(deltas - ending.length), ...ending].entries()) {
    const every = Math.floor(deltas / CITATIONS);
    const isMarker = n % every === Math.floor(every / 2) && n < every * CITATIONS;
    const reference = isMarker ? Math.floor(n / every) + 1 : null;
    const text = reference === null ? piece : `${piece}[^${reference}]`;
    const marked = { reference: reference ?? 0, start: length + piece.length, end: length + text.length };
    log.add({ type: "text.delta", ...on, text, ...(reference === null ? {} : { annotations: [marked] }) });
    length += text.length;
  }
  log.add({ type: "text.end", ...on, final: true });
  log.end();
}

export interface Streamed {
  /** The events of the earlier turns. */
  readonly before: readonly SessionEvent[];
  /** The events of the streamed turn. */
  readonly turn: readonly SessionEvent[];
}

/** @param messages how many messages the thread has before the turn, questions and answers together */
export function streamed(messages: number, deltas: number): Streamed {
  const log = new LogWriter({ check: false }).session();
  history(log, messages / 2);
  const count = log.events.length;
  answer(log, deltas);
  return { before: log.events.slice(0, count), turn: log.events.slice(count) };
}
