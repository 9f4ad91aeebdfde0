/**
 * How a turn is brought to its end from wherever it stands: what is open is closed, calls without a result get one,
 * sub-agents end, then the group, the notice, the main run and the turn (W02). Pure: from the folded turn to the
 * events that are missing, so that whoever goes on after a crash tells the rest, and nothing twice.
 */
import {
  type Block,
  blocksOf,
  findRun,
  isPending,
  mainRun,
  mainRunStatus,
  outlivesTurn,
  resultOf,
  type Run,
  type Turn,
  type TurnErrorWord,
  unansweredCalls,
  type Usage,
  type Json,
} from "@turnstream/protocol";
import { summarise } from "./groups.ts";
import type { TurnDraft } from "./pen.ts";

export type End =
  | { readonly reason: "end_turn" }
  | { readonly reason: "requires_interaction" }
  | { readonly reason: "user_stopped"; readonly by: string | null }
  | {
      readonly reason: "error";
      readonly code: TurnErrorWord;
      readonly text: string;
      readonly canRetry: boolean;
      readonly isTransient: boolean;
      readonly details?: Json;
    };

export interface ClosingFacts {
  readonly usage: Usage;
  readonly durationMs: number;
  /** What each run has used, where known. */
  readonly runUsage: ReadonlyMap<string, Usage>;
  readonly stoppedText: string;
  /** What a group is called in which nothing was done but think. */
  readonly thoughtText: string;
}

/** The next events; empty when the turn has ended. Fold them, then ask again until there are none. */
export function nextClosing(turn: Turn, end: End, facts: ClosingFacts): TurnDraft[] {
  if (turn.status !== "running") return [];
  const open = blocksOf(turn).filter((block) => block.end === null);
  const prose = open.filter((block) => block.kind !== "tool_result");
  if (prose.length > 0) return prose.flatMap((block) => endBlock(block, end));
  const asked = blocksOf(turn).filter(
    (block) => "version" in block && isPending(block) && !outlivesTurn(block),
  );
  if (asked.length > 0) return asked.flatMap((block) => withdraw(block));
  const sub = turn.runs.findLast((run) => run.parent !== null && run.status === "running");
  // The deepest first: a run ends before the result it stands in.
  const calls = unansweredCalls(turn, sub?.id ?? mainRun(turn)?.id);
  const [call] = calls;
  if (call !== undefined) return cancel(turn, call);
  if (sub !== undefined) return [runEnd(sub, "cancelled", facts)];
  if (turn.group !== null) {
    const { group } = turn;
    const main = mainRun(turn);
    const summary = summarise(turn, group, facts.thoughtText);
    return [{ type: "group.end", run: main?.id ?? "main", group, index: turn.items.length, summary }];
  }
  const main = mainRun(turn);
  if (main?.status === "running") {
    const notice = noticeOf(turn, main, end, facts);
    return [...(notice === null ? [] : [notice]), runEnd(main, mainRunStatus(end.reason), facts)];
  }
  const { usage } = facts;
  const used = usage.calls > 0 ? { usage } : {};
  return [{ type: "turn.end", reason: end.reason, duration_ms: facts.durationMs, ...used }];
}

function endBlock(block: Block, end: End): TurnDraft[] {
  const place = { run: block.run, block: block.id, index: block.index };
  switch (block.kind) {
    case "thinking":
      return [{ type: "thinking.end", ...place }];
    case "text":
      return [{ type: "text.end", ...place, final: false }];
    case "tool_call":
      return [{ type: "tool_call.end", ...place, aborted: true }];
    case "files":
      return [
        {
          type: "files.end",
          ...place,
          status: end.reason === "end_turn" ? "completed" : "failed",
          message: "",
        },
      ];
    default:
      return [];
  }
}

function withdraw(block: Block): TurnDraft[] {
  if (block.kind !== "approval" && block.kind !== "question") return [];
  const place = { run: block.run, block: block.id, index: block.index };
  const change = { ...place, version: block.version + 1, status: "cancelled" } as const;
  return [
    block.kind === "approval"
      ? { type: "approval.update", ...change }
      : { type: "question.update", ...change },
  ];
}

function cancel(
  turn: Turn,
  call: { run: string; call: string; name: string; label: string; hidden: boolean },
): TurnDraft[] {
  const started = resultOf(turn, call.call);
  const index = started?.index ?? turn.items.length;
  const place = { run: call.run, block: started?.id ?? `b${index}`, index };
  const { name, label } = call;
  const start: TurnDraft = {
    type: "tool_result.start",
    ...place,
    call: call.call,
    name,
    label,
    ...(call.hidden ? { hidden: true } : {}),
  };
  const end: TurnDraft = {
    type: "tool_result.end",
    ...place,
    status: "cancelled",
    preview: "",
    artifact: null,
  };
  return started === undefined ? [start, end] : [end];
}

function runEnd(
  run: Run,
  status: "completed" | "failed" | "cancelled",
  { runUsage }: ClosingFacts,
): TurnDraft {
  const usage = runUsage.get(run.id);
  return { type: "run.end", run: run.id, status, ...(usage === undefined ? {} : { usage }) };
}

function noticeOf(turn: Turn, main: Run, end: End, { stoppedText }: ClosingFacts): TurnDraft | null {
  if (end.reason === "end_turn" || end.reason === "requires_interaction") return null;
  const index = turn.items.length;
  if (blocksOf(turn).at(-1)?.kind === "notice" || findRun(turn, main.id)?.status !== "running") return null;
  const place = { run: main.id, block: `b${index}`, index };
  if (end.reason === "user_stopped") {
    return {
      type: "notice.stopped",
      ...place,
      text: stoppedText,
      ...(end.by === null ? {} : { by: end.by }),
    };
  }
  const { code, text, canRetry, isTransient, details } = end;
  return {
    type: "notice.error",
    ...place,
    code,
    text,
    can_retry: canRetry,
    error_type: isTransient ? "transient" : "terminal",
    ...(details === undefined ? {} : { details }),
  };
}
