/**
 * Defines `Move` and the helpers that all moves share: picking a move, and finding the calls without a result.
 */
import { type Block, listBlocks, type ToolCallBlock, type Turn } from "@turnstream/protocol";

export type Move = readonly [weight: number, act: () => void];

export function pickOne<T>(list: readonly T[], which: number): T | undefined {
  return list[which % Math.max(1, list.length)];
}

const blocks = new WeakMap<Turn, readonly Block[]>();

/** Returns the blocks of a turn, cached because every move reads them. */
export function blocksIn(turn: Turn): readonly Block[] {
  const known = blocks.get(turn) ?? listBlocks(turn);
  blocks.set(turn, known);
  return known;
}

const calls = new WeakMap<Turn, readonly ToolCallBlock[]>();

export function unanswered(turn: Turn, run?: string): readonly ToolCallBlock[] {
  const known = calls.get(turn) ?? unansweredIn(blocksIn(turn));
  calls.set(turn, known);
  return run === undefined ? known : known.filter((call) => call.run === run);
}

function unansweredIn(all: readonly Block[]): ToolCallBlock[] {
  const results = new Set(all.flatMap((b) => (b.kind === "tool_result" && b.end !== null ? [b.call] : [])));
  return all.filter((b): b is ToolCallBlock => b.kind === "tool_call" && !results.has(b.call));
}
