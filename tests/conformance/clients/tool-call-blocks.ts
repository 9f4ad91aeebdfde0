/**
 * `ToolCallBlocks` is a typed client of document 003, written from its instructions alone: it makes one object of a
 * call and its result, and computes the status of its dot.
 * Invariant: it imports none of our packages, and knows only the fields that the document prints.
 */

export interface ToolCallBlock {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly tool_content_message?: string;
  toolResult: string | null;
  toolResultError: boolean;
  artifact: unknown;
  isStreaming: boolean;
  isFromHistory: boolean;
}

export type DotStatus = "active" | "error" | "done";

interface ToolUse {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly tool_content_message?: string;
}

interface ToolResult {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content: string;
  readonly status: "success" | "error" | "cancelled";
  readonly artifact?: unknown;
}

interface TextBlock {
  readonly type: "text";
}

type Frame =
  | {
      readonly type: "content_block_start";
      readonly index: number;
      readonly content_block: ToolUse | ToolResult | TextBlock;
    }
  | {
      readonly type: "content_block_delta";
      readonly index: number;
      readonly delta: { readonly extras?: { readonly block_subtype?: string } };
    }
  | { readonly type: "content_block_stop"; readonly index: number };

export class ToolCallBlocks {
  readonly blocks: ToolCallBlock[] = [];
  readonly #open = new Map<number, ToolUse | ToolResult | TextBlock>();

  handle(frame: Frame): void {
    if (frame.type === "content_block_start") {
      this.#open.set(frame.index, frame.content_block);
      if (frame.content_block.type === "tool_use") this.blocks.push(startBlock(frame.content_block));
    } else if (frame.type === "content_block_delta") {
      if (frame.delta.extras?.block_subtype !== undefined) this.#endAll();
    } else if (frame.type === "content_block_stop") {
      const block = this.#open.get(frame.index);
      this.#open.delete(frame.index);
      if (block?.type === "tool_result") this.#merge(block);
    }
  }

  #merge({ tool_use_id, content, status, artifact }: ToolResult): void {
    const call = this.blocks.find(({ id }) => id === tool_use_id);
    if (call === undefined) return;
    call.toolResult = content;
    call.toolResultError = status === "error" || status === "cancelled";
    if (artifact) call.artifact = artifact;
    call.isStreaming = false;
  }

  /** After a terminal block nothing streams. A call without a result counts as loaded from history. */
  #endAll(): void {
    for (const block of this.blocks) {
      block.isStreaming = false;
      block.isFromHistory = true;
    }
  }
}

function startBlock({ type: _, ...call }: ToolUse): ToolCallBlock {
  return {
    ...call,
    toolResult: null,
    toolResultError: false,
    artifact: null,
    isStreaming: true,
    isFromHistory: false,
  };
}

export function computeDotStatus({ toolResult, toolResultError, isFromHistory }: ToolCallBlock): DotStatus {
  if (toolResult === null && !isFromHistory) return "active";
  return toolResultError ? "error" : "done";
}
