/**
 * `recoverTurns` returns turns of a dead process to the queue. It looks in the log whether a tool ran in them, because
 * such a turn may have ended the process.
 *
 * Invariant: it claims nothing and writes no event. A tool's result is in the log before the tool starts, so a turn whose
 * tool ended the process always has an open result.
 */
import { findTurn, listBlocks, listPendingInteractions, type Turn } from "@turnstream/protocol";
import { readHistory } from "../../session/history/read-history.ts";
import type { LeftTurn } from "../../store/ports/jobs.ts";
import type { RuntimeContext } from "../attempt/context.ts";

/** @returns how many; fewer than `limit` if none is left */
export async function recoverTurns(
  context: RuntimeContext,
  executor: string,
  { limit }: { readonly limit: number },
): Promise<number> {
  const { jobs } = context.store;
  const left = await jobs.left(executor, { limit });
  const ranTool = await Promise.all(left.map((turn) => didRunTool(context, turn)));
  return jobs.recover(executor, { limit, withTool: left.filter((_, n) => ranTool[n]) });
}

async function didRunTool(context: RuntimeContext, { turn: id, ...ref }: LeftTurn): Promise<boolean> {
  try {
    const { state } = await readHistory(context, ref, { turns: 1 });
    const turn = findTurn(state, id);
    return turn !== undefined && hasOpenTool(turn);
  } catch {
    // The turn must be recovered, and its next attempt reports what is wrong with its log.
    return false;
  }
}

/** A call also has an open result while its sub-agent runs or while it waits for a user. */
export function hasOpenTool(turn: Turn): boolean {
  const idle = new Set<string | null>(turn.runs.map(({ call }) => call));
  for (const { call } of listPendingInteractions(turn)) idle.add(call);
  return listBlocks(turn).some(
    (block) => block.kind === "tool_result" && block.end === null && !idle.has(block.call),
  );
}
