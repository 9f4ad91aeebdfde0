/**
 * `BlocksClient` is a plain client of the `blocks` dialect: it fills one array of blocks per `message_id` from history
 * and frames. It follows only the source documents of the dialect and imports none of our packages, so that our code
 * and the documents can be compared through it.
 */

type Data = Record<string, unknown>;
type PlainBlock = Data & { type: string };

interface PlainMessage {
  blocks: PlainBlock[];
  inProgress: Map<number, PlainBlock>;
  finished: Set<number>;
  highest: number;
  streaming: boolean;
  reason: string | null;
}

/** A group, or a block outside every group. */
type PlainItem = PlainBlock | { type: "group"; blocks: PlainBlock[]; summary: string; isOpen: boolean };

export class BlocksClient {
  readonly messages = new Map<string, PlainMessage>();
  /** What the user wrote, from history and frames, also if no turn has started to answer it. */
  readonly questions: string[] = [];
  /** The last cursor seen: where this client resumes. */
  cursor: string | null = null;
  /** Frames that a client of the documents can't interpret. */
  readonly problems: string[] = [];

  private message(id: string): PlainMessage {
    const known = this.messages.get(id);
    if (known !== undefined) return known;
    const fresh = {
      blocks: [],
      inProgress: new Map(),
      finished: new Set<number>(),
      highest: -1,
      streaming: true,
      reason: null,
    };
    this.messages.set(id, fresh);
    return fresh;
  }

  /** Loads history. The stream after its `last_event_id` then continues in the same arrays. */
  load(history: {
    messages: readonly unknown[];
    running_message_id: string | null;
    last_event_id: string;
  }): void {
    for (const message of history.messages as Data[]) {
      const id = message["message_id"];
      if (message["role"] === "user")
        this.questions.push((message["content"] as Data[])[0]?.["text"] as string);
      if (typeof id !== "string") continue;
      const into = this.message(id);
      into.streaming = false;
      loadMessage(into.blocks, message);
    }
    if (history.running_message_id !== null) this.message(history.running_message_id).streaming = true;
    this.cursor = history.last_event_id;
  }

  handle(frame: Data): void {
    const type = frame["type"] as string;
    const id = frame["message_id"];
    if (typeof id === "string") this.handleInMessage(type, id, frame);
    else if (type === "user_message") this.questions.push(frame["text"] as string);
    else if (type !== "session_title") this.problems.push(`${type} without message_id`);
    if (typeof frame["event_id"] === "string") this.cursor = frame["event_id"];
  }

  private handleInMessage(type: string, id: string, frame: Data): void {
    if (type === "approval_result" || type === "interaction_update") return;
    if (type === "message_start") this.messages.delete(id);
    const message = this.message(id);
    if (!message.streaming) this.problems.push(`${type} after the end of ${id}`);
    const index = frame["index"] as number;
    const isNew = type === "group_start" || type === "group_end" || type === "content_block_start";
    // The index increases over all blocks of a turn. A repeated start belongs to the block in progress.
    if (isNew && !message.inProgress.has(index)) {
      if (index <= message.highest) this.problems.push(`index ${index} after ${message.highest}`);
      message.highest = index;
    }
    switch (type) {
      case "content_block_start":
        if (message.finished.has(index)) this.problems.push(`block ${index} starts again`);
        message.inProgress.set(index, { ...(frame["content_block"] as PlainBlock) });
        return;
      case "content_block_delta": {
        const block = message.inProgress.get(index);
        if (block === undefined) this.problems.push(`delta for the unknown block ${index}`);
        else applyDelta(block, frame["delta"] as Data);
        return;
      }
      case "content_block_stop":
        this.stop(message, index, frame);
        return;
      case "group_start":
      case "group_end":
        message.blocks.push({ type, ...(type === "group_end" ? { summary: frame["summary"] } : {}) });
        return;
      case "message_delta":
        message.reason = (frame["delta"] as Data)["stop_reason"] as string;
        return;
      case "message_stop":
        if (message.reason === null) this.problems.push("message_stop without message_delta");
        if (message.inProgress.size > 0) this.problems.push("message_stop with blocks in progress");
        message.streaming = false;
    }
  }

  private stop(message: PlainMessage, index: number, frame: Data): void {
    const block = message.inProgress.get(index);
    if (block === undefined) {
      this.problems.push(`stop of the unknown block ${index}`);
      return;
    }
    message.inProgress.delete(index);
    message.finished.add(index);
    if (block.type === "text") block["is_final"] = frame["is_final"];
    if (block.type !== "tool_result" || !mergeResult(message.blocks, block)) message.blocks.push(block);
  }

  /** Returns what the user sees. The result does not depend on how the blocks arrived. */
  display(): Record<string, { items: unknown[]; half: unknown[]; streaming: boolean }> {
    const shown: Record<string, { items: unknown[]; half: unknown[]; streaming: boolean }> = {};
    for (const [id, message] of this.messages) {
      const half = [...message.inProgress].toSorted(([a], [b]) => a - b).map(([, block]) => plain(block));
      const items = buildGroups(message.blocks, message.streaming).flatMap((item) => {
        if (item.type !== "group") return [plain(item)];
        const { blocks, ...group } = item as Extract<PlainItem, { blocks: PlainBlock[] }>;
        // A group without steps shows nothing.
        return blocks.length === 0 ? [] : [{ ...group, blocks: blocks.map(plain) }];
      });
      if (items.length + half.length > 0) shown[id] = { items, half, streaming: message.streaming };
    }
    return Object.fromEntries(Object.entries(shown).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** Applies a delta to a block in progress. */
function applyDelta(block: PlainBlock, delta: Data): void {
  if (delta["type"] === "text_delta") {
    block["text"] = `${block["text"] as string}${delta["text"] as string}`;
    applyExtras(block, delta["extras"] as Data | undefined);
  } else if (delta["type"] === "thinking_delta") {
    block["thinking"] = `${block["thinking"] as string}${delta["thinking"] as string}`;
  }
  if (delta["action_requests"] !== undefined) {
    block["action_requests"] = delta["action_requests"];
    block["timeout_seconds"] = delta["timeout_seconds"];
  }
  if (delta["status"]) block["status"] = delta["status"];
  if (delta["message"]) block["message"] = delta["message"];
}

/** Turns a text whose delta carries extras into a terminal block. */
function applyExtras(block: PlainBlock, extras: Data | undefined): void {
  if (extras?.["block_subtype"] === "user_stopped") block.type = "terminal_user_stopped";
  if (extras?.["block_subtype"] === "error") {
    block.type = "terminal_error";
    block["extras"] = extras;
  }
}

/** Stores a result in its call. Returns false if the call is unknown. */
function mergeResult(blocks: PlainBlock[], result: PlainBlock): boolean {
  const call = blocks.find((block) => block.type === "tool_use" && block["id"] === result["tool_use_id"]);
  if (call === undefined) return false;
  call["toolResult"] = result["content"];
  call["toolResultError"] = result["status"] === "error" || result["status"] === "cancelled";
  if (result["artifact"]) call["artifact"] = result["artifact"];
  return true;
}

/** Converts one flat message of history to blocks and markers. */
function loadMessage(blocks: PlainBlock[], message: Data): void {
  const display = message["display_type"];
  if (display === "group_start") blocks.push({ type: "group_start", summary: message["summary"] });
  const author = { subagent: message["subagent"], parent_tool_use_id: message["parent_tool_use_id"] };
  const content = message["content"] as PlainBlock[];
  if (message["role"] === "tool") {
    const text = content.map((part) => part["text"] as string).join("");
    const { tool_call_id, name, status, tool_content_message, artifact } = message;
    const result = { type: "tool_result", tool_use_id: tool_call_id, name, status, content: text, artifact };
    if (!mergeResult(blocks, result)) blocks.push({ ...result, tool_content_message, ...author });
  } else if (message["role"] === "user") blocks.push({ type: "user", content });
  else {
    for (const part of content) {
      const { extras, ...block } = part;
      const own = { ...author, ...block } as PlainBlock;
      applyExtras(own, extras as Data | undefined);
      blocks.push(own);
    }
    for (const call of (message["tool_calls"] as PlainBlock[] | undefined) ?? []) {
      blocks.push({ ...author, ...call, type: "tool_use" });
    }
  }
  if (display === "group_end" || message["group_closed"] === true)
    blocks.push({ type: "group_end", summary: message["summary"] });
}

/** Builds groups with the scan that the source document prints. */
function buildGroups(blocks: readonly PlainBlock[], isStreaming: boolean): PlainItem[] {
  const items: PlainItem[] = [];
  let group: Extract<PlainItem, { blocks: PlainBlock[] }> | null = null;
  for (const block of blocks) {
    if (block.type === "group_start") {
      if (group !== null) items.push(group);
      group = {
        type: "group",
        blocks: [],
        summary: (block["summary"] as string | undefined) ?? "",
        isOpen: true,
      };
    } else if (block.type === "group_end") {
      if (group !== null) {
        group.summary = (block["summary"] as string) || group.summary;
        group.isOpen = false;
        items.push(group);
        group = null;
      }
    } else if (block.type === "user" || (block.type === "text" && block["is_part"] !== true)) {
      if (group !== null) items.push(group);
      group = null;
      items.push(block);
    } else if (group === null) items.push(block);
    else group.blocks.push(block);
  }
  if (group !== null) {
    if (!isStreaming) group.isOpen = false;
    items.push(group);
  }
  return items;
}

/** The fields that the documents allow a client to show. */
const SHOWN = [
  "type",
  "text",
  "thinking",
  "is_part",
  "is_final",
  "id",
  "name",
  "tool_content_message",
  "input",
  "toolResult",
  "toolResultError",
  "artifact",
  "content",
  "approval_key",
  "action_requests",
  "timeout_seconds",
  "files",
  "message",
  "extras",
  "form_request_id",
  "form_schema",
  "payment",
  "subagent",
  "parent_tool_use_id",
];

function plain(block: PlainBlock): Data {
  const shown: Data = {};
  for (const field of SHOWN)
    if (block[field] !== undefined && block[field] !== null) shown[field] = block[field];
  if (block.type === "file_processing") shown["status"] = block["status"];
  if (block.type === "tool_result") shown["tool_use_id"] = block["tool_use_id"];
  // The documents have no frame that changes the state of a payment.
  if (block["payment"] !== undefined) shown["payment"] = { ...(block["payment"] as Data), status: null };
  return shown;
}
