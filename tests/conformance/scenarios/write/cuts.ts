/**
 * `findCuts` selects the positions at which the vectors cut a log: all positions of a short log. A long log is cut at
 * the first position of each situation, which depends on what is open or pending.
 */
import { type Block, listBlocks, isOpen, isPending, type SessionState } from "@turnstream/protocol";

const SHORT = 25;

/** Describes what is open and pending at a position. */
export function situation(state: SessionState): string {
  const turn = state.turns.last();
  if (turn === undefined) return state.seq === 0 ? "before everything" : "before the first turn";
  const pending = state.turns
    .toArray()
    .flatMap(listBlocks)
    .flatMap((block) => ("version" in block && isPending(block) ? [`${block.kind} waits`] : []));
  const waiting = state.waiting.length > 0 ? ["a message waits"] : [];
  if (turn.status !== "running") return [`turn over (${turn.status})`, ...pending, ...waiting].join(", ");
  const open = listBlocks(turn)
    .filter(isOpen)
    .map((block) => `${block.kind} ${isStarted(block) ? "half written" : "open"}`);
  const agents = turn.runs.filter((run) => run.status === "running" && run.parent !== null).length;
  const parts = [
    "turn runs",
    ...(turn.group === null ? [] : ["group open"]),
    ...new Set(open),
    ...(agents === 0 ? [] : [`${agents} sub-agent${agents === 1 ? "" : "s"} at work`]),
    ...pending,
    ...waiting,
  ];
  return state.epoch > 1 ? `${parts.join(", ")}, after a takeover` : parts.join(", ");
}

function isStarted(block: Block): boolean {
  if (block.kind === "text" || block.kind === "thinking") return block.text !== "";
  return block.kind === "tool_call"
    ? block.args !== ""
    : block.kind === "tool_result" && block.parts.length > 0;
}

export function findCuts(states: readonly SessionState[]): number[] {
  const all = [...states.keys()];
  if (all.length - 1 <= SHORT) return all;
  const seen = new Set<string>();
  return all.filter((k) => {
    const here = situation(states[k] as SessionState);
    // Always cut before a takeover, after it, and at the end.
    const nextEpoch = states[k + 1]?.epoch ?? Infinity;
    const isEdge = k === all.length - 1 || (nextEpoch > (states[k]?.epoch ?? 0) && k > 0);
    const isNew = !seen.has(here);
    seen.add(here);
    return isNew || isEdge;
  });
}
