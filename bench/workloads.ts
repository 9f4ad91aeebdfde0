/**
 * `typicalTurn` (W1), `longCall` (W2) and further functions generate the turns that benches run on, as frames of JSON
 * text.
 *
 * Invariant: deterministic, the same bytes on every run.
 */
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";

const VOCABULARY = [
  "the ",
  "price ",
  "of ",
  "**VNM** ",
  "rose",
  " by ",
  "1.2%",
  " and\n",
  "volume",
  " fell",
  "; see ",
  "note ",
];

function pieces(count: number): string[] {
  return Array.from({ length: count }, (_, n) =>
    n > 0 && n % 330 === 0 ? "[^1]." : (VOCABULARY[(n * 7) % VOCABULARY.length] ?? ""),
  );
}

/** JSON text of at least `length` characters in chunks of ten: the content of a file, as coding agents send it. */
export function longArguments(length: number): string[] {
  const line = 'const x = "a\\tb"; // line\n';
  const content = line.repeat(Math.ceil(length / (JSON.stringify(line).length - 2)));
  return inPieces(JSON.stringify({ path: "src/main.ts", content }), 10);
}

function row(n: number): object {
  return { id: n, symbol: `S${n % 97}`, price: n * 1.5, tags: ["a", "b"] };
}

/** The same size as a list of small records, with many containers and keys. */
export function manyRecords(length: number): string[] {
  const size = JSON.stringify(row(100)).length + 1;
  return inPieces(
    JSON.stringify({ rows: Array.from({ length: Math.ceil(length / size) }, (_, n) => row(n)) }),
    10,
  );
}

function inPieces(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, n) =>
    text.slice(n * size, (n + 1) * size),
  );
}

function frames(log: LogWriter): string[] {
  return log.events.map((event) => JSON.stringify(event));
}

/** 200 thinking deltas, 3 calls of 60 argument deltas with 2 kB results, and 2,000 text deltas with citations. */
export function typicalTurn(): string[] {
  const log = new LogWriter().session().begin("How is VNM doing?").openGroup().think(pieces(200));
  const args = inPieces(JSON.stringify({ query: "VNM ".repeat(144), limit: 10 }), 10);
  for (let n = 0; n < 3; n++) {
    const call = log.call("search_stock", args, { label: "Searching" });
    log.result(call, "search_stock", "VNM 82,000 VND. ".repeat(125));
  }
  return frames(log.closeGroup("Searched").text(pieces(2000), { final: true }).end());
}

/** One answer of `count` text deltas. */
export function longAnswer(count: number): string[] {
  return frames(new LogWriter().session().begin("Write it all").text(pieces(count), { final: true }).end());
}

/** One call whose arguments arrive in the given chunks. */
export function longCall(args: readonly string[]): string[] {
  const log = new LogWriter().session().begin("Write the file");
  const call = log.call("write_file", args);
  return frames(log.result(call, "write_file", "written").text(["Done."], { final: true }).end());
}

/** A turn that is streamed into a session with many turns. */
export function turnAfter(turns: number, deltas: number): string[] {
  const log = new LogWriter({ check: false }).session();
  for (let n = 0; n < turns; n++) log.begin("again").text(pieces(3), { final: true }).end();
  return frames(log.begin("and now?").text(pieces(deltas), { final: true }).end());
}

/** A turn of many short steps: a call and its result, and some text of a sub-agent in every tenth step. */
export function manySteps(count: number): string[] {
  const log = new LogWriter({ check: false }).session().begin("Do it all").openGroup();
  for (let n = 0; n < count; n++) {
    const call = log.call("search_stock", ['{"symbol":', `"S${n}"}`]);
    const result = log.startResult(call, "search_stock");
    if (n % 10 === 0) {
      const run = log.startRun(call, "researcher");
      log.text(["Found ", "it."], { part: true, run }).endRun(run);
    }
    log.endResult(result, "found");
  }
  return frames(log.closeGroup("Did it all").text(["Done."], { final: true }).end());
}
