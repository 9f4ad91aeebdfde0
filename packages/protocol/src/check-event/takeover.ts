/**
 * `checkTakeover` checks the rules for a takeover: everything that depends on a superseded block, run or group is
 * superseded too, and no block stays half-written.
 * Invariant: a takeover never supersedes an interaction, the main run, or single blocks of a run that has ended. Only a
 * tool result may stay open, because the store has committed the start of its tool.
 */
import type { EventOf } from "../events/index.ts";
import { type Block, listBlocks, isBlock, type Run, type Turn } from "../state.ts";
import { type Violation, violation } from "./rules.ts";
import { mainRun } from "../turn-queries.ts";

export function checkTakeover(turn: Turn, event: EventOf<"turn.takeover">): Violation | null {
  const blocks = new Set(event.blocks);
  const runs = new Set(event.runs);
  const groups = new Set(event.groups);
  return (
    checkCommitted(turn, blocks, runs) ??
    checkNames(turn, blocks, runs, groups) ??
    checkOpen(turn, blocks) ??
    checkDependents(turn, blocks, runs, groups)
  );
}

type Names = ReadonlySet<string>;

/**
 * Interactions and the calls that they belong to are also committed in the store, so a takeover can't supersede them.
 */
function checkCommitted(turn: Turn, blocks: Names, runs: Names): Violation | null {
  const asked = listBlocks(turn).find((block) => "version" in block && blocks.has(block.id));
  if (asked !== undefined) return violation("L21", `the ${asked.kind} ${asked.id} can't be superseded`);
  const isOver = (run: Run): boolean =>
    run.status !== "running" && run.status !== "superseded" && !runs.has(run.id);
  const over = new Set(turn.runs.filter(isOver).map((run) => run.id));
  const lost = listBlocks(turn).find((block) => over.has(block.run) && blocks.has(block.id));
  return lost === undefined
    ? null
    : violation("L21", `block ${lost.id} of run ${lost.run}, which has ended, can't be superseded`);
}

function checkNames(turn: Turn, blocks: Names, runs: Names, groups: Names): Violation | null {
  const known = new Set(
    turn.items.toArray().flatMap((item) => (item === null || item.kind === "superseded" ? [] : [item.id])),
  );
  for (const id of [...blocks, ...groups]) {
    if (!known.has(id)) return violation("L21", `there is no block or group ${id} to supersede`);
  }
  for (const id of runs) {
    if (mainRun(turn)?.id === id) return violation("L21", "the main run can't be superseded");
    if (!turn.runs.some((run) => run.id === id))
      return violation("L21", `there is no run ${id} to supersede`);
  }
  return null;
}

function checkOpen(turn: Turn, blocks: Names): Violation | null {
  // A result whose tool has started is committed in the store, so it may stay open across the takeover.
  const half = listBlocks(turn).find((b) => b.end === null && b.kind !== "tool_result" && !blocks.has(b.id));
  return half === undefined ? null : violation("L21", `the half-written block ${half.id} is not superseded`);
}

function checkDependents(turn: Turn, blocks: Names, runs: Names, groups: Names): Violation | null {
  const all = listBlocks(turn);
  const voidCalls = new Set(all.flatMap((b) => (b.kind === "tool_call" && blocks.has(b.id) ? [b.call] : [])));
  const voidResults = new Set(
    all.flatMap((b) => (b.kind === "tool_result" && blocks.has(b.id) ? [b.call] : [])),
  );
  const hangs = (block: Block): boolean =>
    runs.has(block.run) ||
    (block.kind !== "tool_call" && "call" in block && block.call !== null && voidCalls.has(block.call));
  const left = all.find((block) => !blocks.has(block.id) && hangs(block));
  if (left !== undefined) return violation("L21", `block ${left.id} depends on something superseded`);
  for (const run of turn.runs) {
    const orphan =
      (run.call !== null && (voidCalls.has(run.call) || voidResults.has(run.call))) ||
      (run.parent !== null && runs.has(run.parent));
    if (orphan && run.status !== "superseded" && !runs.has(run.id)) {
      return violation("L21", `run ${run.id} depends on something superseded`);
    }
  }
  let inside: string | null = null;
  for (const item of turn.items) {
    if (item?.kind === "group_start") inside = item.id;
    else if (item?.kind === "group_end") inside = null;
    else if (isBlock(item) && inside !== null && groups.has(inside) && !blocks.has(item.id)) {
      return violation("L21", `block ${item.id} is in the superseded group ${inside}`);
    }
  }
  return null;
}
