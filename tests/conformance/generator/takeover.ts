/**
 * `takeOver` writes a takeover at a random point: it supersedes everything from an index on, and all that depends on
 * it.
 */
import { type Block, listBlocks, type Turn } from "@turnstream/protocol";
import type { LogWriter } from "../support/log-writer.ts";

export function takeOver(w: LogWriter, turn: Turn, wanted: number): void {
  // Interactions and ended runs are committed, so the takeover supersedes only what comes after the last of them.
  let from = wanted;
  let superseded = voidFrom(turn, from);
  for (let last = lastCommitted(turn, superseded); last >= 0; last = lastCommitted(turn, superseded)) {
    from = Math.max(from, last) + 1;
    superseded = voidFrom(turn, from);
  }
  const groups = turn.items
    .toArray()
    .flatMap((item) => (item?.kind === "group_start" && item.index >= from ? [item.id] : []));
  const { blocks, runs } = superseded;
  w.add({ type: "turn.takeover", turn: turn.id, blocks: [...blocks], groups, runs: [...runs] });
}

interface Void {
  readonly blocks: Set<string>;
  readonly runs: Set<string>;
}

/** The index of the last selected block that must not be superseded (interaction, or block of an ended run), or -1. */
function lastCommitted(turn: Turn, { blocks, runs }: Void): number {
  const over = new Set(
    turn.runs.filter((run) => run.status !== "running" && !runs.has(run.id)).map((run) => run.id),
  );
  const isIt = (block: Block): boolean => blocks.has(block.id) && ("version" in block || over.has(block.run));
  return listBlocks(turn).findLast(isIt)?.index ?? -1;
}

/** Selects everything from an index on, every half-written block, and all that depends on them. */
function voidFrom(turn: Turn, from: number): Void {
  const all = listBlocks(turn);
  const blocks = new Set(
    all.filter((b) => b.index >= from || (b.end === null && b.kind !== "tool_result")).map((b) => b.id),
  );
  const runs = new Set<string>();
  for (let size = -1; size !== blocks.size + runs.size;) {
    size = blocks.size + runs.size;
    const isVoid = (b: (typeof all)[number]): boolean => blocks.has(b.id);
    const calls = new Set(all.flatMap((b) => (b.kind === "tool_call" && isVoid(b) ? [b.call] : [])));
    const results = new Set(all.flatMap((b) => (b.kind === "tool_result" && isVoid(b) ? [b.call] : [])));
    for (const run of turn.runs) {
      if (run.status === "superseded" || run.parent === null) continue;
      const { call } = run;
      if ((call !== null && (calls.has(call) || results.has(call))) || runs.has(run.parent)) runs.add(run.id);
    }
    for (const block of all) {
      const call = "call" in block ? block.call : null;
      if (runs.has(block.run) || (call !== null && block.kind !== "tool_call" && calls.has(call)))
        blocks.add(block.id);
    }
  }
  return { blocks, runs };
}
