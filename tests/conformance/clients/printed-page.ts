/**
 * `PrintedPage` is the page of document 004: one list of blocks from history, to which it appends the stream after
 * `last_event_id`. `buildGroups` and `mergeToolResult` are the functions that 004 and 003 print, with types. It ignores
 * everything that history and frames have beyond the documents, except the text of `user_message`.
 */

/** The functions that the documents print. Tests that have the documents run those instead of the ones with types. */
export interface PrintedCode {
  /** 003:107-119 */
  mergeToolResult(blocks: Block[], toolResultBlock: Block): void;
  /** 004:243-287 */
  buildGroups(blocks: readonly Block[], isStreaming: boolean): (Block | Group)[];
}

type Data = Readonly<Record<string, unknown>>;
interface Block {
  type: string;
  id?: string;
  text?: string;
  thinking?: string;
  is_part?: boolean;
  isPart?: boolean | undefined;
  summary?: string | undefined;
  tool_content_message?: string;
  tool_use_id?: string;
  content?: string;
  status?: string;
  toolResult?: string | undefined;
  toolResultError?: boolean;
}
type Group = { type: "group"; blocks: Block[]; summary: string; isOpen: boolean };

export class PrintedPage {
  readonly #blocks: Block[] = [];
  readonly #started = new Map<number, Block>();
  /** Whether the agent runs. After history, it decides whether the page subscribes. */
  isStreaming = false;
  readonly #code: PrintedCode;

  constructor(code: PrintedCode = { mergeToolResult, buildGroups }) {
    this.#code = code;
  }

  load(history: { readonly messages: readonly unknown[]; readonly agent_status: string }): void {
    for (const message of history.messages as Data[]) {
      const { display_type, group_closed } = message;
      const summary = message["summary"] as string | undefined;
      if (display_type === "group_start") this.#blocks.push({ type: "group_start", summary });
      for (const block of blocksOf(message)) this.#add(block);
      if (display_type === "group_end" || group_closed === true)
        this.#blocks.push({ type: "group_end", summary });
    }
    this.isStreaming = history.agent_status === "running";
  }

  handle(frame: Data): void {
    const type = frame["type"] as string;
    const index = frame["index"] as number;
    switch (type) {
      case "user_message":
        return this.#add({ type: "user", text: frame["text"] as string });
      case "message_start":
      case "message_stop":
        this.isStreaming = type === "message_start";
        return;
      case "group_start":
      case "group_end":
        this.#blocks.push({ type, summary: frame["summary"] as string | undefined });
        return;
      case "content_block_start": {
        const block = frame["content_block"] as Block;
        this.#started.set(index, { ...block, isPart: block.is_part });
        return;
      }
      case "content_block_delta": {
        const block = this.#get(index);
        const { text, thinking } = frame["delta"] as Partial<Block>;
        if (text !== undefined) block.text = (block.text ?? "") + text;
        if (thinking !== undefined) block.thinking = (block.thinking ?? "") + thinking;
        return;
      }
      case "content_block_stop":
        this.#add(this.#get(index));
        this.#started.delete(index);
    }
  }

  #get(index: number): Block {
    const block = this.#started.get(index);
    if (block === undefined) throw new Error(`The block ${index} has not started.`);
    return block;
  }

  #add(block: Block): void {
    if (block.type === "tool_result") this.#code.mergeToolResult(this.#blocks, block);
    this.#blocks.push(block);
  }

  /** One line per item: a text, or a group with what it contains. */
  show(): string[] {
    return this.#code.buildGroups(this.#blocks, this.isStreaming).map((item) => {
      if (!isGroup(item)) return describe(item);
      // 004:505: the result of a call is shown in the call.
      const visible = item.blocks.filter(({ type }) => type !== "tool_result").map(describe);
      return `${item.isOpen ? "open" : "closed"} group "${item.summary}": ${visible.join(", ")}`;
    });
  }
}

function blocksOf(message: Data): Block[] {
  const parts = (message["content"] ?? []) as Block[];
  const content = parts.map(({ text }) => text ?? "").join("");
  if (message["role"] === "user") return [{ type: "user", text: content }];
  if (message["role"] === "tool") {
    const { tool_call_id, status } = message as { tool_call_id: string; status: string };
    return [{ type: "tool_result", tool_use_id: tool_call_id, status, content }];
  }
  const calls = (message["tool_calls"] ?? []) as Block[];
  return [
    ...parts.map((part) => ({ ...part, isPart: part.is_part })),
    ...calls.map((call) => ({ ...call, type: "tool_use" })),
  ];
}

function describe(block: Block): string {
  const { type, text, thinking, tool_content_message, toolResult, toolResultError } = block;
  if (type !== "tool_use") return `${type} ${text ?? thinking ?? ""}`;
  return `${tool_content_message} -> ${toolResultError === true ? "failed" : (toolResult ?? "no result")}`;
}

function isGroup(item: Block | Group): item is Group {
  return item.type === "group";
}

function mergeToolResult(blocks: Block[], toolResultBlock: Block): void {
  const toolUseBlock = blocks.find((b) => b.type === "tool_use" && b.id === toolResultBlock.tool_use_id);
  if (toolUseBlock) {
    toolUseBlock.toolResult = toolResultBlock.content;
    toolUseBlock.toolResultError =
      toolResultBlock.status === "error" || toolResultBlock.status === "cancelled";
  }
}

function buildGroups(blocks: readonly Block[], isStreaming: boolean): (Block | Group)[] {
  const items: (Block | Group)[] = [];
  let currentGroup: Group | null = null;
  for (const block of blocks) {
    if (block.type === "group_start") {
      if (currentGroup) items.push(currentGroup);
      currentGroup = { type: "group", blocks: [], summary: block.summary ?? "", isOpen: true };
      continue;
    }
    if (block.type === "group_end") {
      if (currentGroup) {
        currentGroup.summary = (block.summary ?? "") || currentGroup.summary;
        currentGroup.isOpen = false;
        items.push(currentGroup);
        currentGroup = null;
      }
      continue;
    }
    if (block.type === "user" || (block.type === "text" && !block.isPart)) {
      if (currentGroup) {
        items.push(currentGroup);
        currentGroup = null;
      }
      items.push(block);
      continue;
    }
    if (currentGroup) currentGroup.blocks.push(block);
    else items.push(block);
  }
  if (currentGroup) {
    if (!isStreaming) currentGroup.isOpen = false;
    items.push(currentGroup);
  }
  return items;
}
