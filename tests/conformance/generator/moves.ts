/**
 * `movesAt` returns what can happen next in a session: a weighted list of moves, each of which writes one or more valid
 * events. The simplest moves come first, because fast-check shrinks towards the start of the list.
 */
import {
  type Block,
  isPending,
  type Run,
  type ToolCallBlock,
  type ToolResultBlock,
  type Turn,
} from "@turnstream/protocol";
import { outlivesTurn } from "@turnstream/protocol/writer";
import { findWaitingForm } from "../../../packages/protocol/src/turn-queries.ts";
import type { LogWriter } from "../support/log-writer.ts";
import { closeAll, endBlock, on, running } from "./close.ts";
import type { Choice } from "./choice.ts";
import { interactionMoves } from "./interaction-moves.ts";
import { blocksIn, type Move, pickOne, unanswered } from "./move.ts";
import { takeOver } from "./takeover.ts";

const MAX_DEPTH = 5;
const MAX_OPEN_CALLS = 6;
/** How much more likely a run's own work is than an end of the turn, a takeover or another writer. */
const WORK_WEIGHT = 8;

export function movesAt(w: LogWriter, choice: Choice): Move[] {
  const turn = running(w);
  const others: Move[] = [
    [1, () => w.add({ type: "session.update", title: `title ${choice.text}` })],
    [1, () => w.add({ type: "message.add", message: w.id("msg"), text: choice.text })],
    ...w.state.waiting
      .slice(0, 1)
      .map(({ id }): Move => [1, () => w.add({ type: "message.remove", message: id })]),
  ];
  if (turn === undefined)
    return [
      [8, () => begin(w, choice)],
      ...interactionMoves(w, undefined, choice),
      ...others,
      [1, () => rebuild(w)],
    ];
  const run = pickOne(turn.runs.filter((r) => r.status === "running").toReversed(), choice.which % 3);
  return [
    ...endings(w, turn, choice),
    ...(run === undefined ? [] : scaled(WORK_WEIGHT, runMoves(w, turn, run, choice))),
    ...scaled(WORK_WEIGHT, groupMoves(w, turn)),
    ...interactionMoves(w, turn, choice),
    ...others,
    [3, () => takeOver(w, turn, turn.items.length - (choice.which % 12))],
  ];
}

function scaled(by: number, moves: readonly Move[]): Move[] {
  return moves.map(([weight, act]) => [weight * by, act]);
}

function begin(w: LogWriter, { which, text }: Choice): void {
  w.begin(text, {
    mode: which % 4 === 0 ? "chat" : "agent",
    ...(which % 3 === 0 ? { files: [{ url: "https://example.com/a.pdf" }] } : {}),
  });
}

/** The log was lost and rebuilt while no turn was running. */
function rebuild(w: LogWriter): void {
  w.add({ type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] });
}

function isOver(turn: Turn): boolean {
  return (
    turn.open === 0 &&
    turn.group === null &&
    unanswered(turn).length === 0 &&
    !waits(turn) &&
    subRuns(turn) === 0
  );
}

function subRuns(turn: Turn): number {
  return turn.runs.filter((run) => run.status === "running" && run.parent !== null).length;
}

function waits(turn: Turn): boolean {
  return blocksIn(turn).some((b) => "version" in b && isPending(b) && !outlivesTurn(b));
}

function endings(w: LogWriter, turn: Turn, { which, text }: Choice): Move[] {
  const needsUser = blocksIn(turn).some((b) => "version" in b && outlivesTurn(b));
  const stop = (): void => {
    closeAll(w, turn.id);
    const template = which % 3 === 0 ? { template: { code: "STOPPED" } } : {};
    w.add({ type: "notice.stopped", ...w.place(), text: `stopped ${text}`, ...template });
    w.end("user_stopped");
  };
  const fail = (): void => {
    closeAll(w, turn.id);
    const details = which % 2 === 0 ? { details: { error: text } } : {};
    const error = { code: "LLM_ERROR", can_retry: true, error_type: "terminal", ...details } as const;
    const template =
      which % 3 === 0 ? { template: { code: "LIMIT_REACHED", params: { limit: text, value: which } } } : {};
    w.add({ type: "notice.error", ...w.place(), text, ...error, ...template });
    w.end("error");
  };
  const end = (): void => {
    if (!needsUser) w.text([text], { final: true });
    w.end(needsUser ? "requires_interaction" : "end_turn");
  };
  return [...(isOver(turn) ? ([[needsUser ? 80 : 4, end]] as Move[]) : []), [1, stop], [1, fail]];
}

function runMoves(w: LogWriter, turn: Turn, run: Run, choice: Choice): Move[] {
  const { which, text } = choice;
  const isMain = run.parent === null;
  const own = blocksIn(turn).filter((block) => block.run === run.id);
  const open = own.filter((block) => block.end === null);
  const moves: Move[] = [];
  const block = pickOne(open, which >> 2);
  if (block !== undefined) moves.push(...blockMoves(w, turn, block, choice));
  const isFinal = own.some((b) => b.kind === "text" && b.final);
  if (!open.some((b) => b.kind === "text") && (isMain ? turn.group === null || which % 2 === 0 : true)) {
    const part = !isMain || turn.group !== null || which % 2 === 0;
    moves.push([2, () => w.add({ type: "text.start", ...w.place(run.id), part })]);
  }
  if (!open.some((b) => b.kind === "thinking")) {
    moves.push([2, () => w.add({ type: "thinking.start", ...w.place(run.id) })]);
  }
  if (
    own.length === 0 &&
    isMain &&
    turn.items.length === 0 &&
    turn.message !== null &&
    turn.message.files.length > 0
  ) {
    moves.push([6, () => w.add({ type: "files.start", ...w.place(), files: turn.message?.files ?? [] })]);
  }
  const calls = unanswered(turn, run.id);
  if (!isFinal && calls.length < MAX_OPEN_CALLS) {
    const name = pickOne(["search_stock", "web_search", "researcher", "execute_trade"], which) ?? "";
    const hidden = which % 16 === 0 ? { hidden: true } : {};
    const tool = { call: w.id("call"), name, label: which % 3 === 0 ? "" : `label ${text}`, ...hidden };
    moves.push([4, () => w.add({ type: "tool_call.start", ...w.place(run.id), ...tool })]);
  }
  const ready = calls.filter(
    (call) => call.end !== null && !hasResult(turn, call.call) && !approvalWaits(turn, call.call),
  );
  const call = pickOne(ready, which);
  if (call !== undefined) moves.push([10, () => startResult(w, call)]);
  if (!isMain && open.length === 0 && calls.length === 0 && !waitsIn(turn, run.id)) {
    moves.push([2, () => w.add({ type: "run.end", turn: turn.id, run: run.id, status: "completed" })]);
  }
  return moves;
}

function hasResult(turn: Turn, call: string): boolean {
  return blocksIn(turn).some((b) => b.kind === "tool_result" && b.call === call);
}

function approvalWaits(turn: Turn, call: string): boolean {
  return blocksIn(turn).some((b) => b.kind === "approval" && b.call === call && b.status === "pending");
}

function waitsIn(turn: Turn, run: string): boolean {
  return blocksIn(turn).some((b) => b.run === run && "version" in b && isPending(b) && !outlivesTurn(b));
}

function startResult(w: LogWriter, call: ToolCallBlock): void {
  const hidden = call.hidden ? { hidden: true } : {};
  const { name, label } = call;
  w.add({ type: "tool_result.start", ...w.place(call.run), call: call.call, name, label, ...hidden });
}

function blockMoves(w: LogWriter, turn: Turn, block: Block, { which, text }: Choice): Move[] {
  const at = on(turn, block);
  switch (block.kind) {
    case "thinking":
      return [
        [2, () => endBlock(w, turn, block)],
        [6, () => w.add({ type: "thinking.delta", ...at, text })],
      ];
    case "text": {
      const end = block.text.length + text.length;
      const annotations =
        end > 1 && which % 5 === 0 ? { annotations: [{ reference: which % 4, start: end - 1, end }] } : {};
      return [
        [2, () => endBlock(w, turn, block)],
        [6, () => w.add({ type: "text.delta", ...at, text, ...annotations })],
      ];
    }
    case "tool_call": {
      const given = which % 5 === 0 ? { input: { q: text } } : {};
      return [
        [4, () => w.add({ type: "tool_call.end", ...at, ...given })],
        [4, () => w.add({ type: "tool_call.delta", ...at, args: nextArgs(block.args, text) })],
      ];
    }
    case "files":
      return [
        [2, () => w.add({ type: "files.end", ...at, status: "completed", message: "read" })],
        [
          2,
          () =>
            w.add({
              type: "files.delta",
              ...at,
              status: "processing",
              message: text,
              ...(which % 2 ? { file: 0 } : {}),
            }),
        ],
      ];
    case "tool_result":
      return resultMoves(w, turn, block, which, text);
    default:
      return [];
  }
}

/** Continues JSON text: an object with string values, sometimes closed, sometimes broken. */
function nextArgs(args: string, text: string): string {
  const value = JSON.stringify(text);
  if (args === "") return `{"a":${value}`;
  if (args.endsWith("}")) return text.length % 2 === 0 ? " " : "]";
  return text.length % 3 === 0 ? "}" : `,"k${args.length}":[${value},${args.length}]`;
}

function resultMoves(w: LogWriter, turn: Turn, block: ToolResultBlock, which: number, text: string): Move[] {
  const at = on(turn, block);
  const run = turn.runs.find((r) => r.call === block.call && r.status !== "superseded");
  const last = block.parts.at(-1);
  const part = last === undefined || last.done ? block.parts.length : block.parts.length - 1;
  const media = last === undefined || last.done ? (which % 3 === 0 ? "image" : "text") : last.media;
  const data = media === "image" ? `https://example.com/${block.parts.length}-${which}.png` : text;
  const reference = which % 4 === 0 ? { reference: { id: which % 7, title: text } } : {};
  const moves: Move[] = [];
  if (run?.status !== "running" && findWaitingForm(turn, block.call) === undefined) {
    const outcomes = isRefused(turn, block.call)
      ? (["error"] as const)
      : (["success", "success", "error", "cancelled"] as const);
    const status = pickOne<"success" | "error" | "cancelled">(outcomes, which) ?? "success";
    const artifact = which % 6 === 0 ? { type: "chart", data: { labels: [text], values: [which] } } : null;
    const more =
      which % 7 === 0
        ? { results: which, whole: { blob: "blb_1", size: 99_000, media_type: "text/plain" } }
        : {};
    const structured = which % 5 === 0 ? { structured: { id: which, found: [text, null] } } : {};
    const preview = which % 9 === 0 ? text.repeat(300).slice(0, 4096) : text;
    const end = {
      type: "tool_result.end",
      ...at,
      status,
      preview,
      artifact,
      ...structured,
      ...more,
    } as const;
    moves.push([3, () => w.add(end)]);
  }
  moves.push([
    3,
    () => w.add({ type: "tool_result.delta", ...at, part, media, data, done: which % 2 === 0, ...reference }),
  ]);
  if (run === undefined && !block.hidden && depthOf(turn, block.run) < MAX_DEPTH)
    moves.push([16, () => w.startRun(block.call, "researcher", block.run)]);
  return moves;
}

function isRefused(turn: Turn, call: string): boolean {
  const approval = blocksIn(turn).findLast((b) => b.kind === "approval" && b.call === call);
  return approval?.kind === "approval" && approval.status !== "approved" && approval.status !== "edited";
}

function depthOf(turn: Turn, id: string): number {
  const run = turn.runs.find((r) => r.id === id);
  return run === undefined || run.parent === null ? 0 : 1 + depthOf(turn, run.parent);
}

function groupMoves(w: LogWriter, turn: Turn): Move[] {
  if (turn.open > 0 || unanswered(turn).length > 0) return [];
  return turn.group === null ? [[4, () => w.openGroup()]] : [[2, () => w.closeGroup("summary")]];
}
