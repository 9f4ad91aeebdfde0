/**
 * `updateLayout` computes the visible items of a turn and their order, without texts: blocks by index, groups with
 * their blocks, calls with their results.
 * Invariant: it returns the same objects if only text has grown, so that a delta re-renders one block. Pure. Does not
 * decide what is expanded on the screen.
 */
import {
  type Block,
  type GroupItem,
  isPending,
  mainRun,
  listPendingInteractions,
  type ToolItem,
  toolLabel,
  type Turn,
  type ViewItem,
  viewRun,
} from "@turnstream/protocol";

/** The component that renders a block, by name. */
export type BlockComponentName =
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

export interface LayoutBlock {
  readonly type: "block";
  readonly component: BlockComponentName;
  /** Its index in `turn.items`. */
  readonly blockIndex: number;
  /** Something in it waits for the user. */
  readonly needsUser: boolean;
  readonly hasFailed: boolean;
}

export interface LayoutGroup {
  readonly type: "group";
  /** The index of its `group_start` item. */
  readonly blockIndex: number;
  /** Whether more blocks can follow. */
  readonly isRunning: boolean;
  /** Whether it reached its end without being stopped. */
  readonly isDone: boolean;
  /** The summary, or the last label; "" if there is neither. */
  readonly header: string;
  /** False if the header would only repeat the label of its one call, or name its one thought. */
  readonly hasHeader: boolean;
  readonly blocks: readonly LayoutBlock[];
  /** From its start marker to its end marker; null while it runs, or if the end is unknown. */
  readonly durationMs: number | null;
}

type LayoutItem = LayoutBlock | LayoutGroup;

export type TurnLayout = readonly LayoutItem[];

export interface LayoutState {
  readonly turn: Turn;
  readonly mainRunId: string | null;
  /** By run. */
  readonly layouts: ReadonlyMap<string, TurnLayout>;
  /** By the block index of the call. */
  readonly toolCalls: ReadonlyMap<number, ToolItem>;
}

export const EMPTY_LAYOUT: TurnLayout = [];

export function updateLayout(turn: Turn, before: LayoutState | null): LayoutState {
  if (before?.turn === turn) return before;
  if (before !== null && hasOnlyMoreText(before.turn, turn)) return { ...before, turn };
  const awaiting = findAwaitingRuns(turn);
  const spans = groupSpans(turn);
  const wasCutShort = turn.status !== "running" && turn.status !== "end_turn";
  const layouts = new Map<string, TurnLayout>();
  const toolCalls = new Map<number, ToolItem>();
  const keepTool = (item: ToolItem): void => {
    const known = before?.toolCalls.get(item.call.index);
    toolCalls.set(item.call.index, known !== undefined && isSameTool(known, item) ? known : item);
  };
  for (const run of turn.runs) {
    if (run.status === "superseded") continue;
    const layout: LayoutItem[] = [];
    for (const item of viewRun(turn, run.id)) {
      for (const inner of item.type === "group" ? item.items : [item])
        if (inner.type === "tool") keepTool(inner);
      const entry = toLayoutItem(item, awaiting, spans, wasCutShort);
      if (entry !== null) layout.push(entry);
    }
    const known = before?.layouts.get(run.id);
    layouts.set(run.id, known !== undefined && isSameLayout(known, layout) ? known : layout);
  }
  return { turn, mainRunId: mainRun(turn)?.id ?? null, layouts, toolCalls };
}

/** The parts of an open text that grow. The layout doesn't contain them. */
const GROWING = new Set(["text", "annotations"]);

/** Whether nothing but texts of agents differs. Most changes of a running turn are of this kind. */
function hasOnlyMoreText(before: Turn, turn: Turn): boolean {
  if (!differsOnlyIn(before, turn, ITEMS) || before.items.length !== turn.items.length) return false;
  const last = before.items[Symbol.iterator]();
  for (const item of turn.items) {
    const was = last.next().value ?? null;
    if (was === item) continue;
    if (was === null || item?.kind !== "text" || !differsOnlyIn(was, item, GROWING)) return false;
  }
  return true;
}

const ITEMS = new Set(["items"]);

function differsOnlyIn<T extends object>(one: T, other: T, names: ReadonlySet<string>): boolean {
  const before = new Map<string, unknown>(Object.entries(one));
  const entries = Object.entries(other);
  return (
    entries.length === before.size &&
    entries.every(([name, value]) => before.get(name) === value || names.has(name))
  );
}

function toLayoutItem(
  item: ViewItem,
  awaiting: ReadonlySet<string>,
  spans: ReadonlyMap<string, Span>,
  wasCutShort: boolean,
): LayoutItem | null {
  if (item.type !== "group") return toLayoutBlock(item, awaiting);
  // Nothing is left of a group whose blocks a takeover superseded.
  if (item.items.length === 0 && !item.open) return null;
  const { index, durationMs } = spans.get(item.id) ?? { index: -1, durationMs: null };
  const blocks = item.items.flatMap((inner) => toLayoutBlock(inner, awaiting) ?? []);
  const isCut = wasCutShort && durationMs === null;
  const isDone = !item.open && !isCut && !item.items.some(wasStopped);
  return {
    type: "group",
    blockIndex: index,
    isRunning: item.open,
    isDone,
    header: item.header,
    hasHeader: hasHeader(item),
    blocks,
    durationMs,
  };
}

/** A group of one call and some thoughts gets its header when it ends, because it can then collapse to it. */
function hasHeader({ items, header, open }: GroupItem): boolean {
  const [first, ...others] = items.filter((item) => item.type === "tool");
  if (others.length > 0 || items.length === 0) return true;
  if (first !== undefined && toolLabel(first.call) !== header) return true;
  return items.length > 1 && (first === undefined || !open);
}

/** A check mark means that all tools ran to their end, with or without success. */
function wasStopped(item: ViewItem): boolean {
  return item.type === "tool" && (item.status === "stopped" || item.result?.status === "cancelled");
}

/** Returns null for a block of a newer version that this version can't render. */
function toLayoutBlock(
  item: Exclude<ViewItem, { type: "group" }>,
  awaiting: ReadonlySet<string>,
): LayoutBlock | null {
  if (item.type === "block") {
    const { block } = item;
    const component = componentFor(block);
    if (component === null) return null;
    const needsUser = "version" in block && isPending(block);
    return {
      type: "block",
      component,
      blockIndex: block.index,
      needsUser,
      hasFailed: false,
    };
  }
  const needsUser = item.approvals.some(isPending) || (item.run !== null && awaiting.has(item.run.id));
  // A stop is not a failure, whatever the status dot shows (requirement U02).
  const hasFailed = item.status === "error" && item.result?.status !== "cancelled";
  return {
    type: "block",
    component: "ToolCall",
    blockIndex: item.call.index,
    needsUser,
    hasFailed,
  };
}

function componentFor(block: Block): BlockComponentName | null {
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

/** Returns the runs with a pending interaction in them or below them. */
function findAwaitingRuns(turn: Turn): Set<string> {
  const awaiting = new Set<string>();
  for (const block of listPendingInteractions(turn)) {
    let run = turn.runs.find(({ id }) => id === block.run);
    while (run !== undefined && !awaiting.has(run.id)) {
      awaiting.add(run.id);
      const { parent } = run;
      run = turn.runs.find(({ id }) => id === parent);
    }
  }
  return awaiting;
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

/** The other fields of an item derive from these. */
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

function isSameLayout(one: TurnLayout, other: TurnLayout): boolean {
  return one.length === other.length && one.every((entry, n) => isSameItem(entry, other[n]));
}

function isSameItem(one: LayoutItem, other: LayoutItem | undefined): boolean {
  if (other?.type !== one.type) return false;
  if (one.type === "block")
    return (
      other.type === "block" &&
      one.component === other.component &&
      one.blockIndex === other.blockIndex &&
      one.needsUser === other.needsUser &&
      one.hasFailed === other.hasFailed
    );
  return (
    other.type === "group" &&
    one.blockIndex === other.blockIndex &&
    one.isRunning === other.isRunning &&
    one.isDone === other.isDone &&
    one.header === other.header &&
    one.hasHeader === other.hasHeader &&
    one.durationMs === other.durationMs &&
    isSameLayout(one.blocks, other.blocks)
  );
}
