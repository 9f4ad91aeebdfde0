/**
 * What all moves share: their shape, how one is picked, and which calls still want a result.
 */
import { blocksOf, type ToolCallBlock, type Turn } from "@turnstream/protocol";

export type Move = readonly [weight: number, act: () => void];

export function pickOne<T>(list: readonly T[], which: number): T | undefined {
  return list[which % Math.max(1, list.length)];
}

export function unanswered(turn: Turn, run?: string): ToolCallBlock[] {
  const results = new Set(
    blocksOf(turn).flatMap((b) => (b.kind === "tool_result" && b.end !== null ? [b.call] : [])),
  );
  return blocksOf(turn).filter(
    (b): b is ToolCallBlock =>
      b.kind === "tool_call" && !results.has(b.call) && (run === undefined || b.run === run),
  );
}
