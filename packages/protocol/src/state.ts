/**
 * `SessionState` is the folded state of a session at one position. This module has its types, the empty state and the
 * type guards of its items.
 * Invariant: the state is plain data (a Sequence serializes as an array) and is never changed in place. Snapshots
 * contain it unvalidated, so a change of its shape needs a higher SCHEMA_VERSION.
 */
import type { EventOf } from "./events/index.ts";
import type { Json } from "./json.ts";
import type { PartialJson } from "./partial-json.ts";
import { Sequence } from "./sequence.ts";

export type Usage = NonNullable<EventOf<"turn.end">["usage"]>;
export type FileRef = NonNullable<EventOf<"message.add">["files"]>[number];
export type Annotation = NonNullable<EventOf<"text.delta">["annotations"]>[number];
export type Reference = NonNullable<EventOf<"tool_result.delta">["reference"]>;
export type Artifact = NonNullable<EventOf<"tool_result.end">["artifact"]>;
export type TextTemplate = NonNullable<EventOf<"notice.stopped">["template"]>;
export type FullContent = NonNullable<EventOf<"tool_result.end">["whole"]>;
export type ApprovalAction = EventOf<"approval.request">["actions"][number];
/** How to show one argument of a call: what the schema of its tool states about it. */
export type ArgumentField = NonNullable<ApprovalAction["fields"]>[number];
export type Question = EventOf<"question.request">["questions"][number];
export type QuestionAnswer = NonNullable<EventOf<"question.update">["answers"]>[number];
export type FormSchema = EventOf<"form.request">["schema"];
export type FormField = FormSchema["fields"][number];

export interface UserMessage {
  readonly id: string;
  readonly text: string;
  readonly files: readonly FileRef[];
  /** Where the whole text is stored if `text` is only its start. */
  readonly whole: FullContent | null;
  readonly by: string | null;
  readonly resumes: string | null;
  readonly at: number;
}

export interface SessionState {
  /** The position of the last folded event. */
  readonly epoch: number;
  readonly seq: number;
  readonly session: string;
  readonly number: number;
  readonly title: string | null;
  /** Queued user messages, which no turn has started to answer. */
  readonly waiting: readonly UserMessage[];
  /**
   * Ids of the newest messages that left the queue without starting a turn: they were withdrawn, or answered a
   * question.
   */
  readonly settled: readonly string[];
  /** The number of older turns that this state does not contain, if it is only a window of the session. */
  readonly earlier: number;
  readonly turns: Sequence<Turn>;
}

export type TurnStatus = "running" | EventOf<"turn.end">["reason"];

export interface Turn {
  readonly id: string;
  readonly number: number;
  readonly message: UserMessage | null;
  readonly message_number: number;
  readonly agent: string;
  readonly model: string | null;
  readonly mode: "agent" | "chat";
  readonly from_share: boolean;
  readonly resumes: string | null;
  readonly retries: string | null;
  /** The language of the texts that the server writes for the user; null if the message and the session name none. */
  readonly locale: string | null;
  /** The seq of its start and of its end; `end` is null while the turn runs. */
  readonly start: number;
  readonly end: number | null;
  readonly started_at: number;
  readonly status: TurnStatus;
  readonly duration_ms: number | null;
  readonly usage: Usage | null;
  readonly runs: readonly Run[];
  /** Blocks and group markers by `index`; null where the counter skipped a number. */
  readonly items: Sequence<Item | null>;
  /** The open group, if any. */
  readonly group: string | null;
  /** The number of blocks that have started and not ended. */
  readonly open: number;
  /** The number of open blocks that every dialect shows while they are incomplete: thinking, text, files. */
  readonly half_shown: number;
  /** The number of items that `blocks` clients have received so far. */
  readonly shown_count: number;
}

export interface Run {
  readonly id: string;
  readonly parent: string | null;
  readonly call: string | null;
  readonly agent: string;
  readonly label: string | null;
  readonly started_at: number;
  readonly status: "running" | "completed" | "failed" | "cancelled" | "superseded";
  readonly usage: Usage | null;
  /**
   * The number of output items that the run has started: thinking, text, tool call, tool result, notice; hidden ones
   * don't count.
   */
  readonly outputs: number;
}

interface ItemBase {
  readonly id: string;
  readonly run: string;
  readonly index: number;
  /** The seq of the event that started it. */
  readonly start: number;
  readonly started_at: number;
  /**
   * The number of the item among those that `blocks` clients receive; null while they have not received it.
   * They receive calls and results only after their end, and hidden items never.
   */
  readonly shown: number | null;
}

export interface BlockBase extends ItemBase {
  /** The seq of the event that ended it; null while it is open. */
  readonly end: number | null;
  readonly ended_at: number | null;
  /** The turn ended before the block did. */
  readonly aborted: boolean;
}

/** A block that is an output item of its run. `output` is its number. */
interface OutputBase extends BlockBase {
  readonly output: number;
}

interface ThinkingBlock extends OutputBase {
  readonly kind: "thinking";
  readonly text: string;
}

export interface TextBlock extends OutputBase {
  readonly kind: "text";
  readonly text: string;
  readonly part: boolean;
  readonly final: boolean;
  readonly call: string | null;
  readonly annotations: readonly Annotation[];
}

export interface ToolCallBlock extends OutputBase {
  readonly kind: "tool_call";
  readonly call: string;
  readonly name: string;
  readonly label: string;
  readonly hidden: boolean;
  /** The arguments as JSON text, as far as they have streamed. */
  readonly args: string;
  /** The parser state of `args`; read it with `currentInput`. Not part of a snapshot. */
  readonly parsed: PartialJson;
  /** The arguments; null until the call has ended. */
  readonly input: Json;
  /** True if `input` came with the end of the call instead of from `args`. */
  readonly given: boolean;
  /** Where the whole arguments are stored if `input` is only a preview. */
  readonly whole: FullContent | null;
}

export interface ResultPart {
  readonly media: "text" | "image";
  readonly data: string;
  readonly reference: Reference | null;
  readonly done: boolean;
  /** The number of images that an image part has had so far; it numbers the partial images. */
  readonly pictures: number;
}

export interface ToolResultBlock extends OutputBase {
  readonly kind: "tool_result";
  readonly call: string;
  readonly name: string;
  readonly label: string;
  readonly hidden: boolean;
  readonly parts: readonly ResultPart[];
  readonly status: "running" | EventOf<"tool_result.end">["status"];
  readonly preview: string;
  readonly artifact: Artifact | null;
  readonly whole: FullContent | null;
  /** The result as data. Absent unless the tool publishes it. */
  readonly structured?: Json;
  readonly results: number | null;
  readonly usage: Usage | null;
}

export interface FilesBlock extends BlockBase {
  readonly kind: "files";
  readonly files: readonly (FileRef & { readonly status: string })[];
  readonly status: "processing" | "completed" | "failed";
  readonly message: string;
}

export interface NoticeBlock extends OutputBase {
  readonly kind: "notice";
  readonly notice: "stopped" | "error";
  readonly text: string;
  readonly by: string | null;
  /** The text as code and parameters; null if the server did not write one of its own texts. */
  readonly template: TextTemplate | null;
  readonly error: Pick<EventOf<"notice.error">, "code" | "can_retry" | "error_type" | "details"> | null;
}

interface InteractionBase extends BlockBase {
  readonly call: string | null;
  /** 0 until the first update. */
  readonly version: number;
  /** The seq of its last change, or of the request. */
  readonly changed: number;
  readonly by: string | null;
  readonly reason: string | null;
  readonly decided_at: number | null;
}

export interface ApprovalBlock extends InteractionBase {
  readonly kind: "approval";
  readonly key: string;
  readonly actions: readonly ApprovalAction[];
  readonly editable: boolean;
  readonly timeout_seconds: number | null;
  readonly deadline: number | null;
  readonly digest: string | null;
  /** Whether the user may allow the tool for the rest of the session. */
  readonly offers_always: boolean;
  readonly status: "pending" | EventOf<"approval.update">["status"];
  /** The actions as the user edited them. */
  readonly edited: readonly ApprovalAction[] | null;
  /** Whether the user allowed the tool for the rest of the session. */
  readonly always: boolean;
}

export interface QuestionBlock extends InteractionBase {
  readonly kind: "question";
  readonly key: string;
  readonly questions: readonly Question[];
  readonly timeout_seconds: number | null;
  readonly deadline: number | null;
  readonly status: "pending" | EventOf<"question.update">["status"];
  readonly answers: readonly QuestionAnswer[] | null;
  /** The user message that was the answer. */
  readonly message: string | null;
}

export interface FormBlock extends InteractionBase {
  readonly kind: "form";
  readonly form: string;
  readonly schema: FormSchema;
  /** Whether the turn waits for the form; otherwise the form outlives the turn. */
  readonly waits: boolean;
  readonly timeout_seconds: number | null;
  readonly deadline: number | null;
  readonly status: "pending" | EventOf<"form.update">["status"];
  readonly values: Readonly<Record<string, Json>> | null;
}

export interface PaymentBlock extends InteractionBase {
  readonly kind: "payment";
  readonly payment: string;
  readonly order_no: string;
  readonly amount: number;
  readonly currency: string;
  readonly description: string;
  readonly checkout_url: string;
  /** When it expires unless it is paid before. */
  readonly deadline: number | null;
  readonly status: "pending" | EventOf<"payment.update">["status"];
}

export type InteractionBlock = ApprovalBlock | QuestionBlock | FormBlock | PaymentBlock;
/** A request that can end its turn, and be decided after it. */
export type RequestBlock = FormBlock | PaymentBlock;
export type Block =
  | ThinkingBlock
  | TextBlock
  | ToolCallBlock
  | ToolResultBlock
  | FilesBlock
  | NoticeBlock
  | InteractionBlock;

export interface GroupStart extends ItemBase {
  readonly kind: "group_start";
}

export interface GroupEnd extends ItemBase {
  readonly kind: "group_end";
  readonly summary: string;
}

/** The remains of a block or marker that a takeover superseded: its index and its number. */
export interface Superseded extends ItemBase {
  readonly kind: "superseded";
  readonly was: Exclude<Item["kind"], "superseded">;
  /** Its number among the output items of its run, if it was one. */
  readonly output: number | null;
  /** The tool call that it belonged to, if any. */
  readonly call: string | null;
  readonly name: string | null;
}

export type Item = Block | GroupStart | GroupEnd | Superseded;

export const emptyState: SessionState = {
  epoch: 0,
  seq: 0,
  session: "",
  number: 0,
  title: null,
  waiting: [],
  settled: [],
  earlier: 0,
  turns: Sequence.empty<Turn>(),
};

export function isBlock(item: Item | null): item is Block {
  return (
    item !== null && item.kind !== "group_start" && item.kind !== "group_end" && item.kind !== "superseded"
  );
}

/** Returns true if a block has started and not ended. Interactions arrive complete, so a pending one is not open. */
export function isOpen(block: Block): boolean {
  return block.end === null;
}

/** Returns the blocks of a turn by index, without superseded ones. */
export function listBlocks(turn: Turn): Block[] {
  return turn.items.toArray().filter(isBlock);
}

/** Returns false for hidden blocks, and for thinking in a turn whose mode is chat. */
export function isVisible(turn: Turn, block: { readonly kind: string; readonly hidden?: boolean }): boolean {
  return block.hidden !== true && (block.kind !== "thinking" || turn.mode === "agent");
}
