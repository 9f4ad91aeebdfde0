/**
 * `readHistoryPage` and `historyToFrames` convert a page of history to frames of the `blocks` dialect (requirements
 * H01, H02), so that one decoder reads history and stream.
 * Invariant: they accept pages without Turnstream's additions, also those that document 004 prints: a bare list of
 * messages, and messages without `content`. Unknown content is skipped. Pure.
 */
import type { BlocksHistory, HistoryMessage, BlocksFrame } from "@turnstream/protocol/blocks";

type HistoryPart = HistoryMessage["content"][number];
type Loose = Readonly<Record<string, unknown>>;

export interface HistoryPage extends Partial<Omit<BlocksHistory, "messages">> {
  readonly messages: readonly HistoryMessage[];
}

/** Adds what other servers leave out of a response: the object around the messages, and empty `content`. */
export function readHistoryPage(response: unknown): HistoryPage {
  const page = (Array.isArray(response) ? { messages: response } : response) as HistoryPage;
  const messages = page.messages.map((message) =>
    Array.isArray(message.content) ? message : { ...message, content: [] },
  );
  return { ...page, messages };
}

export function historyToFrames(page: HistoryPage, session: string): BlocksFrame[] {
  const frames: Loose[] = [];
  if (typeof page.title === "string")
    frames.push({ type: "session_title", session_id: session, title: page.title });
  const turns = groupByTurn(page.messages.filter((message) => !isWaiting(message)));
  // Only our server names the running turn.
  const { running_message_id: running = page.agent_status === "running" ? turns.at(-1)?.id : null } = page;
  for (const { id, messages } of turns) frames.push(...turnFrames(id, messages, session, id === running));
  for (const message of page.messages.filter(isWaiting)) frames.push(userFrame(message, null));
  return frames as unknown as BlocksFrame[];
}

/** Returns true for a user message whose turn has not started. */
function isWaiting({ message_id }: HistoryMessage): boolean {
  return message_id === null;
}

/** Groups consecutive messages of the same turn. If messages don't name a turn, each user message starts one. */
function groupByTurn(messages: readonly HistoryMessage[]): { id: string; messages: HistoryMessage[] }[] {
  const turns: { id: string; messages: HistoryMessage[] }[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    const id =
      message.message_id ??
      (message.role === "user" || last === undefined ? `turn/${turns.length}` : last.id);
    if (last === undefined || last.id !== id) turns.push({ id, messages: [message] });
    else last.messages.push(message);
  }
  return turns;
}

function turnFrames(
  id: string,
  messages: readonly HistoryMessage[],
  session: string,
  isRunning: boolean,
): Loose[] {
  const frames: Loose[] = [];
  const userMessage = messages.find(({ role }) => role === "user");
  if (userMessage !== undefined) frames.push(userFrame(userMessage, id));
  frames.push({
    type: "message_start",
    session_id: session,
    message_id: id,
    timestamp: 0,
    display_mode: messages.some(({ display_mode }) => display_mode === "chat") ? "chat" : "agent",
    is_new_session_from_share: messages.some((message) => message.is_new_session_from_share === true),
  });
  let index = 0;
  for (const message of messages) {
    if (message.role === "user") continue;
    const { display_type: displayType, summary = "" } = message;
    if (displayType === "group_start") frames.push({ type: "group_start", message_id: id, index: index++ });
    for (const block of blockFrames(message)) {
      frames.push(...block(index).map((frame) => ({ message_id: id, index, ...frame })));
      index += 1;
    }
    if (displayType === "group_end" || message.group_closed === true)
      frames.push({ type: "group_end", message_id: id, index: index++, summary });
  }
  if (isRunning) return frames;
  const stop_reason = endsWithRequest(messages) ? "requires_interaction" : "end_turn";
  return [
    ...frames,
    { type: "message_delta", message_id: id, delta: { stop_reason } },
    { type: "message_stop", message_id: id, duration_ms: 0 },
  ];
}

function userFrame({ content, user_message_id: own }: HistoryMessage, turn: string | null): Loose {
  const user_message_id = own ?? `${turn}/message`;
  const text = joinText(content);
  const content_urls = content.flatMap((part) => (part.type === "file" ? [part["url"]] : []));
  return { type: "user_message", user_message_id, text, content_urls };
}

function joinText(content: readonly HistoryPart[]): string {
  return content.map(({ text }) => (typeof text === "string" ? text : "")).join("");
}

/** A turn whose last block is a form or payment ended with that request. */
function endsWithRequest(messages: readonly HistoryMessage[]): boolean {
  const last = messages.at(-1)?.content.at(-1)?.type;
  return last === "form_request" || last === "payment_request";
}

type BlockFrames = (index: number) => Loose[];

function blockFrames(message: HistoryMessage): BlockFrames[] {
  const { subagent = null, parent_tool_use_id = null } = message;
  const author = { subagent, parent_tool_use_id };
  if (message.role === "tool") {
    const { tool_call_id, name, status, tool_content_message, artifact = null, results, whole } = message;
    const content = joinText(message.content);
    const more = { ...(results === undefined ? {} : { results }), ...(whole === undefined ? {} : { whole }) };
    const tool = { tool_use_id: tool_call_id, name, tool_name: name, status, tool_content_message };
    return [wholeBlock({ type: "tool_result", ...tool, content, artifact, ...more, ...author })];
  }
  const calls = message.tool_calls ?? [];
  return [
    ...message.content.map(
      (part): BlockFrames =>
        () =>
          partFrames(part, author),
    ),
    ...calls.map((call) => wholeBlock({ type: "tool_use", tool_use_id: call.id, ...call, ...author })),
  ];
}

/** Frames of a block whose start contains everything. */
function wholeBlock(content_block: Loose): BlockFrames {
  return () => [blockStart(content_block), { type: "content_block_stop" }];
}

function blockStart(content_block: Loose): Loose {
  return { type: "content_block_start", content_block };
}

function blockDelta(change: Loose): Loose {
  return { type: "content_block_delta", delta: change };
}

function partFrames(part: HistoryPart, author: Loose): Loose[] {
  const stop = { type: "content_block_stop" };
  switch (part.type) {
    case "thinking":
      return [
        blockStart({ type: "thinking", thinking: "", ...author }),
        blockDelta({ type: "thinking_delta", thinking: part["thinking"] }),
        stop,
      ];
    case "text": {
      const { text, annotations, extras, is_part = false, is_final = false } = part;
      const more = {
        ...(annotations === undefined ? {} : { annotations }),
        ...(extras === undefined ? {} : { extras }),
      };
      return [
        blockStart({ type: "text", text: "", is_part, ...author }),
        blockDelta({ type: "text_delta", text, ...more }),
        { ...stop, is_final },
      ];
    }
    case "file_processing": {
      const { files, status, message } = part;
      return [
        blockStart({ type: "file_processing", status: "processing", files }),
        blockDelta({ status, message }),
        stop,
      ];
    }
    case "approval_request":
      return approvalFrames(part, author);
    case "form_request": {
      const { status, values, reason, version, ...request } = part;
      const id = request["form_request_id"];
      return [
        blockStart({ ...request, ...author }),
        stop,
        ...updateFrames("form", id, { status, values, reason, version }),
      ];
    }
    case "payment_request": {
      const { payment, status, reason, version } = part;
      const id = (payment as Loose | undefined)?.["payment_request_id"];
      return [
        blockStart({ type: "payment_request", payment, ...author }),
        stop,
        ...updateFrames("payment", id, { status, reason, version }),
      ];
    }
    default:
      return [];
  }
}

function approvalFrames(part: HistoryPart, author: Loose): Loose[] {
  const { approval_key, action_requests, review_configs, timeout_seconds, deadline, tool_use_id } = part;
  const { digest, status, version, edited_requests, always, answers, reason } = part;
  const request = { action_requests, review_configs, timeout_seconds, deadline, tool_use_id, digest };
  const frames: Loose[] = [
    blockStart({ type: "approval_request", approval_key, ...author }),
    blockDelta(withoutUndefined(request)),
    { type: "content_block_stop" },
  ];
  if (status === undefined || status === "pending") return frames;
  const what = withoutUndefined({ action_requests: edited_requests, always, answers, reason, version });
  return [...frames, { type: "approval_result", approval_key, status, ...what }];
}

function updateFrames(interaction_type: string, interaction_id: unknown, change: Loose): Loose[] {
  const { status } = change;
  if (status === undefined || status === "pending") return [];
  return [{ type: "interaction_update", interaction_type, interaction_id, ...withoutUndefined(change) }];
}

function withoutUndefined(fields: Loose): Loose {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
