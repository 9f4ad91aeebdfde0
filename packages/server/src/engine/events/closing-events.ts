/**
 * `nextClosingEvents` computes the events that end a turn from any state. Pure.
 *
 * Order: open blocks, pending interactions, calls without a result, sub-agent runs, the group, the notice, the main
 * run, the turn. The deepest run closes first, with its calls.
 *
 * Invariant: the events follow from the folded turn alone, so that an attempt after a crash writes only the missing
 * ones.
 */
import {
  type Block,
  listBlocks,
  isPending,
  mainRun,
  findToolResult,
  type Run,
  type ToolCallBlock,
  type Turn,
  type Usage,
  type Json,
  type TextTemplate,
} from "@turnstream/protocol";
import {
  mainRunStatus,
  outlivesTurn,
  type TurnErrorCode,
  unansweredCalls,
} from "@turnstream/protocol/writer";
import { groupSummary } from "./groups.ts";
import { MAIN_RUN, type TurnEventDraft } from "./turn-writer.ts";
import { defined } from "../../util/defined.ts";

export type TurnOutcome =
  | { readonly reason: "end_turn" }
  | { readonly reason: "requires_interaction" }
  | { readonly reason: "user_stopped"; readonly by: string | null }
  | {
      readonly reason: "error";
      readonly code: TurnErrorCode;
      readonly text: string;
      readonly canRetry: boolean;
      readonly details?: Json;
      readonly template?: TextTemplate;
    };

export interface ClosingContext {
  readonly usage: Usage;
  readonly durationMs: number;
  /** Usage of each run, by the call that started it, or `main`. */
  readonly runUsage: ReadonlyMap<string, { readonly usage: Usage }>;
  readonly stoppedText: string;
  /** Label of a group that contains only thinking. */
  readonly thinkingLabel: string;
}

/** Returns the next events, or none if the turn has ended. Fold them and call again until there are none. */
export function nextClosingEvents(turn: Turn, end: TurnOutcome, records: ClosingContext): TurnEventDraft[] {
  if (turn.status !== "running") return [];
  const main = mainRun(turn);
  // The log may have lost the start of the main run during the commit, and a notice needs a run.
  if (main === undefined) return [{ type: "run.start", run: MAIN_RUN, agent: turn.agent }];
  const open = nextRunClosingEvents(turn, main.id, records.runUsage);
  if (open.length > 0) return open;
  if (turn.group !== null) {
    const { group } = turn;
    const summary = groupSummary(turn, group, records.thinkingLabel);
    return [{ type: "group.end", run: main.id, group, index: turn.items.length, summary }];
  }
  if (main.status === "running") {
    const notice = noticeOf(turn, main, end, records);
    return [...(notice === null ? [] : [notice]), runEnd(main, mainRunStatus(end.reason), records.runUsage)];
  }
  const { usage } = records;
  const used = usage.calls > 0 ? { usage } : {};
  return [{ type: "turn.end", reason: end.reason, duration_ms: records.durationMs, ...used }];
}

/**
 * Returns the next events that close a run's blocks and the runs below it, or none if the run can end. It closes the
 * deepest run first, because a run ends before the result that contains it.
 */
export function nextRunClosingEvents(
  turn: Turn,
  root: string,
  runUsage: ReadonlyMap<string, { readonly usage: Usage }>,
): TurnEventDraft[] {
  const runs = runSubtree(turn, root);
  const blocks = listBlocks(turn).filter((block) => runs.some(({ id }) => id === block.run));
  const prose = blocks.filter((block) => block.end === null && block.kind !== "tool_result");
  if (prose.length > 0) return prose.flatMap(endBlock);
  const asked = blocks.filter((block) => "version" in block && isPending(block) && !outlivesTurn(block));
  if (asked.length > 0) return asked.flatMap(withdraw);
  const deepest = runs.findLast((run) => run.status === "running");
  const [call] = deepest === undefined ? [] : unansweredCalls(turn, deepest.id);
  if (call !== undefined) return cancel(turn, call);
  return deepest === undefined || deepest.id === root ? [] : [runEnd(deepest, "cancelled", runUsage)];
}

/** Returns a run and all runs below it. A run always starts after its parent. */
export function runSubtree(turn: Turn, root: string): readonly Run[] {
  const ids = new Set([root]);
  return turn.runs.filter((run) => {
    if (run.parent !== null && ids.has(run.parent)) ids.add(run.id);
    return ids.has(run.id);
  });
}

function endBlock(block: Block): TurnEventDraft[] {
  const place = { run: block.run, block: block.id, index: block.index };
  switch (block.kind) {
    case "thinking":
      return [{ type: "thinking.end", ...place }];
    case "text":
      return [{ type: "text.end", ...place, final: false }];
    case "tool_call":
      return [{ type: "tool_call.end", ...place, aborted: true }];
    case "files":
      return [{ type: "files.end", ...place, status: "failed", message: "" }];
    default:
      return [];
  }
}

function withdraw(block: Block): TurnEventDraft[] {
  if (!("version" in block)) return [];
  const place = { run: block.run, block: block.id, index: block.index };
  const change = { ...place, version: block.version + 1, status: "cancelled" } as const;
  return [{ type: `${block.kind}.update` as const, ...change }];
}

function cancel(turn: Turn, { run, call, name, label, hidden: isHidden }: ToolCallBlock): TurnEventDraft[] {
  const started = findToolResult(turn, call);
  const index = started?.index ?? turn.items.length;
  const place = { run, block: started?.id ?? `b${index}`, index };
  const outcome = { status: "cancelled", preview: "", artifact: null } as const;
  const end: TurnEventDraft = { type: "tool_result.end", ...place, ...outcome };
  if (started !== undefined) return [end];
  const hidden = isHidden ? { hidden: true } : {};
  return [{ type: "tool_result.start", ...place, call, name, label, ...hidden }, end];
}

function runEnd(
  run: Run,
  status: "completed" | "failed" | "cancelled",
  runUsage: ReadonlyMap<string, { readonly usage: Usage }>,
): TurnEventDraft {
  const usage = runUsage.get(run.call ?? MAIN_RUN)?.usage;
  return { type: "run.end", run: run.id, status, ...defined({ usage }) };
}

function noticeOf(
  turn: Turn,
  main: Run,
  end: TurnOutcome,
  { stoppedText }: ClosingContext,
): TurnEventDraft | null {
  if (end.reason === "end_turn" || end.reason === "requires_interaction") return null;
  const index = turn.items.length;
  if (listBlocks(turn).at(-1)?.kind === "notice") return null;
  const place = { run: main.id, block: `b${index}`, index };
  if (end.reason === "user_stopped") {
    return {
      type: "notice.stopped",
      ...place,
      text: stoppedText,
      template: { code: "STOPPED" },
      ...(end.by === null ? {} : { by: end.by }),
    };
  }
  const { code, text, canRetry, details, template } = end;
  return {
    type: "notice.error",
    ...place,
    code,
    text,
    can_retry: canRetry,
    error_type: canRetry ? "transient" : "terminal",
    ...defined({ details, template }),
  };
}
