/**
 * `toHistory` returns the history of the `blocks` dialect: flat messages with one kind of content each, grouped by
 * markers (requirements H01, H02). Comments mark Turnstream's additions to the original format with "Added".
 * Invariant: history is built from the state at a handoff point. History and the frames after that point together are
 * exactly the whole stream.
 */
import { formatCursor } from "../../cursor.ts";
import type { Json } from "../../json.ts";
import {
  type Block,
  listBlocks,
  type SessionState,
  type TextBlock,
  type Turn,
  type UserMessage,
} from "../../state.ts";
import { listPendingInteractions } from "../../turn-queries.ts";
import { actionRequest, paymentFrame } from "../interactions.ts";
import { authorOf, contentDeltas, contentStart } from "./content.ts";
import { shownItems } from "./encode.ts";
import type { ContentBlockOf } from "./frames.ts";

/** One part of a message: `text`, `thinking`, or (added) any other content block with its delta merged in. */
type HistoryPart = { readonly type: string; readonly [field: string]: unknown };

export interface HistoryMessage {
  readonly role: "user" | "assistant" | "tool";
  /** Added: the turn, equal to the `message_id` of its frames; null for a message that waits for its turn. */
  readonly message_id: string | null;
  /** Added: on user messages. */
  readonly user_message_id?: string;
  /** Added: on every message of a turn in chat mode. */
  readonly display_mode?: "chat";
  /** Added: on every message of the first turn of a fork. */
  readonly is_new_session_from_share?: true;
  readonly message_type?: "chat" | "step";
  readonly content: readonly HistoryPart[];
  readonly tool_calls?: readonly { id: string; name: string; tool_content_message: string; input: Json }[];
  readonly tool_call_id?: string;
  readonly name?: string;
  readonly status?: string;
  readonly tool_content_message?: string;
  readonly artifact?: Json;
  /** Added: the number of results, and where the whole result is stored. */
  readonly results?: number;
  readonly whole?: Json;
  readonly subagent?: string | null;
  readonly parent_tool_use_id?: string | null;
  readonly display_type: "content" | "group_start" | "group_item" | "group_end";
  readonly summary?: string;
  readonly group_closed?: boolean;
}

export interface BlocksHistory {
  /** Added. */
  readonly title: string | null;
  readonly messages: readonly HistoryMessage[];
  /** `running` also while a message waits, because a client that reads `idle` does not subscribe. */
  readonly agent_status: "running" | "idle";
  /** Added: the turn that runs, or null. */
  readonly running_message_id: string | null;
  readonly pending_approval: HistoryPart | null;
  /** Added: all pending interactions, including the pending approval. */
  readonly pending: readonly HistoryPart[];
  readonly last_event_id: string;
}

export function toHistory(state: SessionState): BlocksHistory {
  const turns = state.turns.toArray();
  const pending = turns.flatMap((turn) => listPendingInteractions(turn).map((block) => partOf(turn, block)));
  const running = turns.find(isRunning);
  return {
    title: state.title,
    messages: toHistoryMessages(turns, state.waiting),
    agent_status: running === undefined && state.waiting.length === 0 ? "idle" : "running",
    running_message_id: running?.id ?? null,
    pending_approval: pending.find((part) => part.type === "approval_request") ?? null,
    pending,
    last_event_id: formatCursor(state),
  };
}

/**
 * Returns the messages of turns, oldest first, and those of the user that wait for a turn. These precede the answer of
 * a running turn, because the stream continues that answer, and a user message would end its open group.
 */
export function toHistoryMessages(
  turns: readonly Turn[],
  waiting: readonly UserMessage[] = [],
): HistoryMessage[] {
  const queued = waiting.map((message) => userMessage(message, null));
  const messages = turns.flatMap((turn) => turnMessages(turn, isRunning(turn) ? queued : []));
  return turns.some(isRunning) ? messages : [...messages, ...queued];
}

function isRunning({ status }: Turn): boolean {
  return status === "running";
}

function turnMessages(turn: Turn, queued: readonly HistoryMessage[]): HistoryMessage[] {
  const messages = [
    ...(turn.message === null ? [] : [{ ...userMessage(turn.message, turn.id), ...startFields(turn) }]),
    ...queued,
  ];
  let group: HistoryMessage[] | null = null;
  let isFirst = true;
  for (const item of shownItems(turn)) {
    if (item.kind === "group_start") {
      if (group !== null) messages.push(...marked(group, null));
      group = [];
    } else if (item.kind === "group_end") {
      if (group !== null) messages.push(...marked(group, item.summary));
      group = null;
    } else if (item.end !== null) {
      const message: HistoryMessage = blockMessage(turn, item, isFirst ? "chat" : "step");
      if (message.role === "assistant") isFirst = false;
      (group ?? messages).push(message);
    }
  }
  // A group that was left open counts as closed once the turn has ended.
  return group === null ? messages : [...messages, ...marked(group, turn.status === "running" ? null : "")];
}

/** Sets the group markers on the messages of a group. `summary` is null while the group is open. */
function marked(group: readonly HistoryMessage[], summary: string | null): HistoryMessage[] {
  return group.map((message, n) => {
    const isLast = n === group.length - 1 && summary !== null;
    const ends = summary === null ? {} : { summary };
    if (n === 0) {
      return { ...message, display_type: "group_start", ...ends, ...(isLast ? { group_closed: true } : {}) };
    }
    return isLast
      ? { ...message, display_type: "group_end", ...ends }
      : { ...message, display_type: "group_item" };
  });
}

/** Returns the fields of the turn's `message_start` that differ from their usual values. */
function startFields({
  mode,
  from_share,
}: Turn): Pick<HistoryMessage, "display_mode" | "is_new_session_from_share"> {
  return {
    ...(mode === "chat" ? { display_mode: mode } : {}),
    ...(from_share ? { is_new_session_from_share: from_share } : {}),
  };
}

function userMessage(message: UserMessage, turn: string | null): HistoryMessage {
  const files = message.files.map((file) => ({ type: "file", ...file }));
  return {
    role: "user",
    message_id: turn,
    user_message_id: message.id,
    content: [{ type: "text", text: message.text }, ...files],
    display_type: "content",
  };
}

function blockMessage(turn: Turn, block: Block, message_type: "chat" | "step"): HistoryMessage {
  const common = {
    message_id: turn.id,
    ...startFields(turn),
    ...authorOf(turn, block.run),
    display_type: "content",
  } as const;
  if (block.kind === "tool_result") {
    const { call: tool_call_id, name, status } = block;
    const start = contentStart(turn, block) as ContentBlockOf<"tool_result">;
    const { content, tool_content_message, artifact, results, whole } = start;
    const more = { ...(results === undefined ? {} : { results }), ...(whole === undefined ? {} : { whole }) };
    const text = [{ type: "text", text: content }];
    const tool = { tool_call_id, name, status, tool_content_message };
    return { role: "tool", ...common, ...tool, content: text, artifact, ...more };
  }
  if (block.kind === "tool_call") {
    const start = contentStart(turn, block) as ContentBlockOf<"tool_use">;
    const { id, name, tool_content_message, input } = start;
    return {
      role: "assistant",
      message_type,
      ...common,
      content: [],
      tool_calls: [{ id, name, tool_content_message, input }],
    };
  }
  return { role: "assistant", message_type, ...common, content: [partOf(turn, block)] };
}

/** Returns a block as one content part: its start, deltas, stop and updates merged. */
function partOf(turn: Turn, block: Block): HistoryPart {
  const start: Record<string, unknown> = contentStart(turn, block);
  const deltas: Record<string, unknown>[] = contentDeltas(block);
  const merged = Object.assign({}, start, ...deltas, became(turn, block), {
    type: start["type"],
  }) as HistoryPart;
  // The message already names the author.
  const { subagent: _, parent_tool_use_id: __, ...part } = merged;
  return part;
}

/**
 * Returns true for a text that a call of the same run follows. The stream can't know this when the text starts; history
 * can.
 */
function isBeforeCall(turn: Turn, { run, index }: TextBlock): boolean {
  const next = listBlocks(turn).find((block) => block.run === run && block.index > index);
  return next?.kind === "tool_call";
}

/** Returns how a text ended, or the outcome of an interaction. */
function became(turn: Turn, block: Block): Record<string, unknown> {
  if (block.kind === "text")
    return { is_final: block.final, is_part: block.part || isBeforeCall(turn, block) };
  if (!("version" in block)) return {};
  const reason = block.reason === null ? {} : { reason: block.reason };
  const common = { status: block.status, version: block.version, ...reason };
  switch (block.kind) {
    case "approval":
      return {
        ...common,
        ...(block.edited === null ? {} : { edited_requests: block.edited.map(actionRequest) }),
        ...(block.always ? { always: true } : {}),
      };
    case "question":
      return { ...common, ...(block.answers === null ? {} : { answers: block.answers }) };
    case "form":
      return { ...common, ...(block.values === null ? {} : { values: block.values }) };
    case "payment":
      return { ...common, payment: paymentFrame(block) };
  }
}
