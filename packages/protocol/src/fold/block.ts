/**
 * `startBlock`, `extendBlock` and `endBlock` fold the events of blocks that agents write.
 * Invariant: a turn or block that has ended ignores these events. Every start, end and abort updates `open` and
 * `half_shown` of the turn through `opened`, because handoff points rely on both counts. A notice ends every open
 * block.
 */
import type { EventOf } from "../events/index.ts";
import { emptyPartialJson, finishJson, pushJson, readPartial } from "../partial-json.ts";
import {
  type Block,
  type FilesBlock,
  type ResultPart,
  type ToolCallBlock,
  type ToolResultBlock,
  type Turn,
  isBlock,
  isVisible,
} from "../state.ts";
import { blockAt, changeRun, findRun, isFree, placeItem, showItem, withItem } from "./edit.ts";
import { newBlock, type StartEvent } from "./new-block.ts";

type DeltaEvent = EventOf<
  "thinking.delta" | "text.delta" | "tool_call.delta" | "tool_result.delta" | "files.delta"
>;
type EndEvent = EventOf<"thinking.end" | "text.end" | "tool_call.end" | "tool_result.end" | "files.end">;

/** Returns true for block kinds that every dialect shows while they are incomplete. */
export function showsHalf(kind: Block["kind"]): boolean {
  return kind === "thinking" || kind === "text" || kind === "files";
}

export function startBlock(turn: Turn, event: StartEvent, seq: number): Turn {
  const run = findRun(turn, event.run);
  if (turn.status !== "running" || run?.status !== "running" || !isFree(turn, event.index)) return turn;
  const block = newBlock(event, seq, run.outputs);
  const placed = placeItem(turn, block);
  const counted = isOutput(turn, block)
    ? changeRun(placed, run.id, (r) => ({ ...r, outputs: r.outputs + 1 }))
    : placed;
  const shown = showsHalf(block.kind) || block.kind === "notice" ? show(counted, block) : counted;
  return block.end === null ? opened(shown, block, 1) : endAll(shown, block, seq, event.at);
}

function show(turn: Turn, block: Block): Turn {
  return isVisible(turn, block) ? showItem(turn, block) : turn;
}

/** Returns true for events that end everything still open in their turn. */
export function endsAll(event: { readonly type: string }): boolean {
  return event.type === "turn.end" || event.type === "notice.stopped" || event.type === "notice.error";
}

/** A notice is the last block of a turn, so it ends every block that its writer left open. */
function endAll(turn: Turn, notice: Block, seq: number, at: number): Turn {
  let next = turn;
  for (const item of turn.items) {
    if (isBlock(item) && item.end === null && item.index !== notice.index) {
      next = opened(withItem(next, abort(item, seq, at)), item, -1);
    }
  }
  return next;
}

/** Returns the block as it is, ended by another event than its own end. */
export function abort(block: Block, seq: number, at: number): Block {
  const ended = { end: seq, ended_at: at, aborted: true };
  if (block.kind === "tool_call") return { ...endCall(block, undefined, true), ...ended };
  if (block.kind === "tool_result") return { ...block, ...ended, status: "cancelled" };
  if (block.kind === "files") return { ...block, ...ended, status: "failed" };
  return { ...block, ...ended };
}

function isOutput(turn: Turn, block: Block): boolean {
  return "output" in block && isVisible(turn, block);
}

export function opened(turn: Turn, block: Block, by: 1 | -1): Turn {
  const isHalfShown = showsHalf(block.kind) && isVisible(turn, block);
  return { ...turn, open: turn.open + by, half_shown: turn.half_shown + (isHalfShown ? by : 0) };
}

export function extendBlock(turn: Turn, event: DeltaEvent): Turn {
  const block = blockAt(turn, event.index, event.block);
  if (block === undefined || block.end !== null) return turn;
  const extended = extensionOf(block, event);
  return extended === block ? turn : withItem(turn, extended);
}

function extensionOf(block: Block, event: DeltaEvent): Block {
  switch (event.type) {
    case "thinking.delta":
      return block.kind === "thinking" ? { ...block, text: block.text + event.text } : block;
    case "text.delta": {
      if (block.kind !== "text") return block;
      const text = block.text + event.text;
      if (event.annotations === undefined) return { ...block, text };
      return { ...block, text, annotations: [...block.annotations, ...event.annotations] };
    }
    case "tool_call.delta":
      if (block.kind !== "tool_call") return block;
      return { ...block, args: block.args + event.args, parsed: pushJson(block.parsed, event.args) };
    case "tool_result.delta":
      return block.kind === "tool_result" ? withPart(block, event) : block;
    case "files.delta":
      return block.kind === "files" ? withProgress(block, event) : block;
  }
}

function withPart(block: ToolResultBlock, event: EventOf<"tool_result.delta">): ToolResultBlock {
  const { part: at, media, data, done } = event;
  const old = block.parts[at];
  if (at > block.parts.length || old?.done === true || (old !== undefined && old.media !== media))
    return block;
  const part: ResultPart = {
    media,
    data: media === "text" ? (old?.data ?? "") + data : data,
    reference: event.reference ?? old?.reference ?? null,
    done,
    pictures: media === "image" ? (old?.pictures ?? 0) + 1 : 0,
  };
  return { ...block, parts: [...block.parts.slice(0, at), part, ...block.parts.slice(at + 1)] };
}

function withProgress(block: FilesBlock, event: EventOf<"files.delta">): FilesBlock {
  // An empty message keeps the previous one.
  const message = event.message || block.message;
  if (event.file === undefined) return { ...block, status: event.status, message };
  const files = block.files.map((file, n) => (n === event.file ? { ...file, status: event.status } : file));
  return { ...block, files, message };
}

export function endBlock(turn: Turn, event: EndEvent, seq: number): Turn {
  const block = blockAt(turn, event.index, event.block);
  if (block === undefined || block.end !== null || turn.status !== "running") return turn;
  const ended = endOf(block, event);
  if (ended === block) return turn;
  const closed = { ...ended, end: seq, ended_at: event.at };
  const next = opened(withItem(turn, closed), block, -1);
  return showsHalf(block.kind) ? next : show(next, closed);
}

function endOf(block: Block, event: EndEvent): Block {
  switch (event.type) {
    case "thinking.end":
      return block.kind === "thinking" ? { ...block } : block;
    case "text.end":
      return block.kind === "text" ? { ...block, final: event.final } : block;
    case "tool_call.end":
      return block.kind === "tool_call"
        ? { ...endCall(block, event.input, event.aborted ?? false), whole: event.whole ?? null }
        : block;
    case "tool_result.end":
      if (block.kind !== "tool_result") return block;
      return {
        ...block,
        parts: block.parts.map((part) => (part.done ? part : { ...part, done: true })),
        status: event.status,
        preview: event.preview,
        artifact: event.artifact,
        whole: event.whole ?? null,
        ...(event.structured === undefined ? {} : { structured: event.structured }),
        results: event.results ?? null,
        usage: event.usage ?? null,
      };
    case "files.end": {
      if (block.kind !== "files") return block;
      const { status } = event;
      const message = event.message || block.message;
      const files = block.files.map((file) => (file.status === "processing" ? { ...file, status } : file));
      return { ...block, files, status, message };
    }
  }
}

/** Drops the parser state: after its end, a call is read from `input`. */
export function endCall(
  block: ToolCallBlock,
  input: ToolCallBlock["input"] | undefined,
  aborted: boolean,
): ToolCallBlock {
  const streamed = finishJson(block.parsed) ?? readPartial(block.parsed) ?? (block.args === "" ? {} : null);
  return {
    ...block,
    input: input === undefined ? streamed : input,
    given: input !== undefined,
    parsed: emptyPartialJson,
    aborted,
  };
}

/** Returns the arguments of a call: complete after its end, before that the part that has streamed. */
export function currentInput(block: ToolCallBlock): ToolCallBlock["input"] {
  return block.end === null ? (readPartial(block.parsed) ?? null) : block.input;
}
