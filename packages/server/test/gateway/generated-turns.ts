/**
 * Generates the next events of a session from its state: turns with streamed blocks, sometimes two at a time, and
 * titles in between. Some turns are in chat mode, and some calls are hidden. Pure. The events are legal if the state is that of the log.
 */
import { type Block, listBlocks, fold, type SessionState, type Turn } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";

/** `responses` delays an incomplete tag. */
const PIECES = ["a", "word ", "<", "<tool", ' name="x">', "hidden</tool>", "😀", "\n"];

/**
 * @param which one number for each event to generate
 * @param count returns new numbers for unique ids and texts
 */
export function generateDrafts(
  from: SessionState,
  which: readonly number[],
  count: () => number,
): readonly EventDraft[] {
  const drafts: EventDraft[] = [];
  let state = from;
  for (const one of which)
    for (const draft of next(state, one, count)) {
      drafts.push(draft);
      state = fold(state, { v: 1, id: `${state.epoch}-${state.seq + 1}`, at: 1, ...draft });
    }
  return drafts;
}

/** Takes over the running turn: open blocks are superseded. */
export function createTakeover(state: SessionState): EventDraft {
  const turn = findRunningTurn(state);
  const blocks = listOpenBlocks(turn).flatMap(({ id, kind }) => (kind === "tool_result" ? [] : [id]));
  return { type: "turn.takeover", turn: turn?.id ?? null, blocks, groups: [], runs: [] };
}

/** A turn with so many blocks that a new subscriber gets it in several pages. */
export function longTurn(blocks: number): readonly number[] {
  return [1, ...Array.from({ length: blocks }, () => [START_TEXT, APPEND_TEXT, END_TEXT]).flat()];
}

const START_TEXT = 1;
const APPEND_TEXT = 2;
const END_TEXT = 4;

function next(state: SessionState, which: number, count: () => number): readonly EventDraft[] {
  const turn = findRunningTurn(state);
  if (which % 13 === 0) return [{ type: "session.update", title: `title ${count()}` }];
  if (turn === undefined) return startTurn(state, count);
  const open = listOpenBlocks(turn);
  const block = open[which % Math.max(1, open.length)];
  if (block === undefined || (open.length === 1 && which % 11 === 0)) return [startBlock(turn, which, count)];
  return [which % 4 === 0 ? endBlock(turn, block) : appendDelta(turn, block, which, count)];
}

function startTurn({ turns }: SessionState, count: () => number): readonly EventDraft[] {
  const [turn, message, number] = [`t${count()}`, `m${count()}`, turns.length + 1];
  const mode = number % 3 === 2 ? "chat" : "agent";
  const start = { number, message_number: number, agent: "main", mode, from_share: false } as const;
  return [
    { type: "message.add", message, text: "Hello" },
    { type: "turn.start", turn, message, ...start },
    { type: "run.start", turn, run: turn, agent: "main" },
  ];
}

function startBlock(turn: Turn, which: number, count: () => number): EventDraft {
  const on = { turn: turn.id, run: turn.id, block: `b${count()}`, index: turn.items.length };
  // Next to another open block: a run has at most one of each kind.
  const [other] = listOpenBlocks(turn);
  if (other !== undefined)
    return other.kind === "text"
      ? { type: "thinking.start", ...on }
      : { type: "text.start", ...on, part: false };
  const all = listBlocks(turn);
  const unanswered = all.find(
    (one) =>
      one.kind === "tool_call" &&
      one.end !== null &&
      !all.some((b) => b.kind === "tool_result" && b.call === one.call),
  );
  const tool = { name: "search", label: "" };
  if (unanswered?.kind === "tool_call" && which % 2 === 0) {
    const hidden = unanswered.hidden ? { hidden: true } : {};
    return { type: "tool_result.start", ...on, call: unanswered.call, ...tool, ...hidden };
  }
  if (which % 5 === 0 && unanswered === undefined)
    return { type: "turn.end", turn: turn.id, reason: "end_turn", duration_ms: 10 };
  if (which % 5 === 2) return { type: "thinking.start", ...on };
  const hidden = which % 7 < 3 ? { hidden: true } : {};
  if (which % 5 === 3) return { type: "tool_call.start", ...on, call: `c${count()}`, ...tool, ...hidden };
  return { type: "text.start", ...on, part: which % 3 === 0 };
}

function appendDelta(turn: Turn, block: Block, which: number, count: () => number): EventDraft {
  const on = blockFields(turn, block);
  const text = `${PIECES[which % PIECES.length]}${which % 3 === 0 ? count() : ""}`;
  switch (block.kind) {
    case "thinking":
      return { type: "thinking.delta", ...on, text };
    case "tool_call":
      return { type: "tool_call.delta", ...on, args: block.args === "" ? '{"q":"a' : "b" };
    case "tool_result":
      return { type: "tool_result.delta", ...on, part: 0, media: "text", data: text, done: false };
    default:
      return { type: "text.delta", ...on, text };
  }
}

function endBlock(turn: Turn, block: Block): EventDraft {
  const on = blockFields(turn, block);
  switch (block.kind) {
    case "thinking":
      return { type: "thinking.end", ...on };
    case "tool_call":
      return { type: "tool_call.end", ...on, input: { q: "a" } };
    case "tool_result":
      return { type: "tool_result.end", ...on, status: "success", preview: "Found", artifact: null };
    default:
      return { type: "text.end", ...on, final: false };
  }
}

function blockFields(turn: Turn, { run, id: block, index }: Block) {
  return { turn: turn.id, run, block, index };
}

function findRunningTurn({ turns }: SessionState): Turn | undefined {
  const turn = turns.last();
  return turn?.status === "running" ? turn : undefined;
}

function listOpenBlocks(turn: Turn | undefined): Block[] {
  return turn === undefined ? [] : listBlocks(turn).filter(({ end }) => end === null);
}
