/**
 * What is shown of a turn and in which order, without the words: steps by their place, groups with their steps, calls with
 * their results. Pure. Gives back what it gave before wherever nothing but text has grown, so that a delta draws one block.
 * Never decides what is open on the screen.
 */
import {
  type Block,
  isPending,
  mainRun,
  listPendingInteractions,
  type ToolItem,
  type Turn,
  type ViewItem,
  viewRun,
} from "@turnstream/protocol";

/** The component that draws a block, by its name. */
export type PartName =
  | "ThinkingBlock"
  | "TextBlock"
  | "ToolCall"
  | "ApprovalCard"
  | "QuestionCard"
  | "FormCard"
  | "PaymentCard"
  | "FileProgress"
  | "StoppedNotice"
  | "ErrorNotice";

export interface Step {
  readonly type: "step";
  readonly part: PartName;
  /** Its place in the turn. */
  readonly index: number;
  /** Something in it waits for a person. */
  readonly needsPerson: boolean;
  readonly isFailed: boolean;
}

export interface Group {
  readonly type: "group";
  /** The place of its marker. */
  readonly index: number;
  /** Whether more steps may come. */
  readonly isRunning: boolean;
  /** Whether it came to its end, and was not stopped on the way. */
  readonly isDone: boolean;
  /** The summary, or the last label; "" when there is neither. */
  readonly header: string;
  readonly steps: readonly Step[];
  /** From its marker to its end; null while it runs, or where the end is not known. */
  readonly durationMs: number | null;
}

export type Outline = readonly (Step | Group)[];

export interface Digest {
  readonly turn: Turn;
  readonly main: string | null;
  /** By run. */
  readonly outlines: ReadonlyMap<string, Outline>;
  /** By the place of the call. */
  readonly tools: ReadonlyMap<number, ToolItem>;
}

export const NOTHING: Outline = [];

export function digest(turn: Turn, before: Digest | null): Digest {
  if (before?.turn === turn) return before;
  const asked = runsThatAsk(turn);
  const spans = groupSpans(turn);
  const wasCutShort = turn.status !== "running" && turn.status !== "end_turn";
  const outlines = new Map<string, Outline>();
  const tools = new Map<number, ToolItem>();
  const keepTool = (item: ToolItem): void => {
    const known = before?.tools.get(item.call.index);
    tools.set(item.call.index, known !== undefined && isSameTool(known, item) ? known : item);
  };
  for (const run of turn.runs) {
    if (run.status === "superseded") continue;
    const outline: (Step | Group)[] = [];
    for (const item of viewRun(turn, run.id)) {
      for (const inner of item.type === "group" ? item.items : [item])
        if (inner.type === "tool") keepTool(inner);
      const entry = entryOf(item, asked, spans, wasCutShort);
      if (entry !== null) outline.push(entry);
    }
    const known = before?.outlines.get(run.id);
    outlines.set(run.id, known !== undefined && isSameOutline(known, outline) ? known : outline);
  }
  return { turn, main: mainRun(turn)?.id ?? null, outlines, tools };
}

function entryOf(
  item: ViewItem,
  asked: ReadonlySet<string>,
  spans: ReadonlyMap<string, Span>,
  wasCutShort: boolean,
): Step | Group | null {
  if (item.type !== "group") return stepOf(item, asked);
  // Nothing is left of a group whose steps a takeover made void.
  if (item.items.length === 0 && !item.open) return null;
  const { index, durationMs } = spans.get(item.id) ?? { index: -1, durationMs: null };
  const steps = item.items.flatMap((inner) => stepOf(inner, asked) ?? []);
  const isCut = wasCutShort && durationMs === null;
  const isDone = !item.open && !isCut && !item.items.some(wasStopped);
  return { type: "group", index, isRunning: item.open, isDone, header: item.header, steps, durationMs };
}

/** A check mark stands for what ran to its end, well or not. */
function wasStopped(item: ViewItem): boolean {
  return item.type === "tool" && (item.status === "stopped" || item.result?.status === "cancelled");
}

/** Null for what a newer version put there, and this one can't draw. */
function stepOf(item: Exclude<ViewItem, { type: "group" }>, asked: ReadonlySet<string>): Step | null {
  if (item.type === "block") {
    const { block } = item;
    const part = partOf(block);
    if (part === null) return null;
    const needsPerson = "version" in block && isPending(block);
    return { type: "step", part, index: block.index, needsPerson, isFailed: false };
  }
  const needsPerson = item.approvals.some(isPending) || (item.run !== null && asked.has(item.run.id));
  // A stop is nobody's failure, whatever the dot shows (U02).
  const isFailed = item.status === "error" && item.result?.status !== "cancelled";
  return { type: "step", part: "ToolCall", index: item.call.index, needsPerson, isFailed };
}

function partOf(block: Block): PartName | null {
  switch (block.kind) {
    case "thinking":
      return "ThinkingBlock";
    case "text":
      return "TextBlock";
    case "tool_call":
    case "tool_result":
      return "ToolCall";
    case "files":
      return "FileProgress";
    case "notice":
      return block.notice === "stopped" ? "StoppedNotice" : "ErrorNotice";
    case "approval":
      return "ApprovalCard";
    case "question":
      return "QuestionCard";
    case "form":
      return "FormCard";
    case "payment":
      return "PaymentCard";
    default:
      return null;
  }
}

/** Runs in which, or below which, something waits for a person. */
function runsThatAsk(turn: Turn): Set<string> {
  const asked = new Set<string>();
  for (const block of listPendingInteractions(turn)) {
    let run = turn.runs.find(({ id }) => id === block.run);
    while (run !== undefined && !asked.has(run.id)) {
      asked.add(run.id);
      const { parent } = run;
      run = turn.runs.find(({ id }) => id === parent);
    }
  }
  return asked;
}

interface Span {
  readonly index: number;
  readonly durationMs: number | null;
}

function groupSpans(turn: Turn): Map<string, Span> {
  const spans = new Map<string, Span>();
  let open: { readonly id: string; readonly index: number; readonly from: number } | null = null;
  for (const item of turn.items) {
    if (item?.kind === "group_start") {
      open = { id: item.id, index: item.index, from: item.started_at };
      spans.set(item.id, { index: item.index, durationMs: null });
    } else if (item?.kind === "group_end" && open !== null) {
      spans.set(open.id, { index: open.index, durationMs: item.started_at - open.from });
      open = null;
    }
  }
  return spans;
}

/** The rest of an item follows from these. */
function isSameTool(one: ToolItem, other: ToolItem): boolean {
  return (
    one.call === other.call &&
    one.result === other.result &&
    one.run === other.run &&
    one.status === other.status &&
    one.approvals.length === other.approvals.length &&
    one.approvals.every((approval, n) => approval === other.approvals[n])
  );
}

function isSameOutline(one: Outline, other: Outline): boolean {
  return one.length === other.length && one.every((entry, n) => isSameEntry(entry, other[n]));
}

function isSameEntry(one: Step | Group, other: Step | Group | undefined): boolean {
  if (other?.type !== one.type) return false;
  if (one.type === "step")
    return (
      other.type === "step" &&
      one.part === other.part &&
      one.index === other.index &&
      one.needsPerson === other.needsPerson &&
      one.isFailed === other.isFailed
    );
  return (
    other.type === "group" &&
    one.index === other.index &&
    one.isRunning === other.isRunning &&
    one.isDone === other.isDone &&
    one.header === other.header &&
    one.durationMs === other.durationMs &&
    isSameOutline(one.steps, other.steps)
  );
}
