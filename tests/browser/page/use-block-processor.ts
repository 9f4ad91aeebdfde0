/**
 * `useBlockProcessor` is a React client of document 000, written from its instructions alone: it fills blocks by
 * `index`, turns texts with a subtype into terminal blocks, and stores a result in its call.
 * Invariant: it imports none of our packages, and knows only the frames and fields that the document prints.
 */
import { useCallback, useRef, useState } from "react";

export interface ShownBlock {
  type: string;
  index: number;
  id?: string;
  name?: string;
  tool_use_id?: string;
  tool_content_message?: string;
  text?: string;
  thinking?: string;
  content?: string;
  status?: string;
  artifact?: unknown;
  toolResult?: string;
  toolResultError?: boolean;
  processingStatus?: string;
}

interface Delta {
  readonly type?: "text_delta" | "thinking_delta";
  readonly text?: string;
  readonly thinking?: string;
  readonly status?: string;
  readonly extras?: { readonly block_subtype?: "user_stopped" | "error" };
}

export type BlockFrame =
  | { readonly type: "message_start" | "message_delta" | "message_stop" }
  | {
      readonly type: "content_block_start";
      readonly index: number;
      readonly content_block: Omit<ShownBlock, "index">;
    }
  | { readonly type: "content_block_delta"; readonly index: number; readonly delta: Delta }
  | { readonly type: "content_block_stop"; readonly index: number };

const TERMINAL = { user_stopped: "terminal_user_stopped", error: "terminal_error" };

export function useBlockProcessor() {
  const [blocks, setBlocks] = useState<readonly ShownBlock[]>([]);
  const [isStreaming, setIsStreaming] = useState(false);
  const inProgress = useRef(new Map<number, ShownBlock>());

  const handleEvent = useCallback((frame: BlockFrame): void => {
    switch (frame.type) {
      case "message_start":
        inProgress.current.clear();
        setBlocks([]);
        setIsStreaming(true);
        return;
      case "content_block_start":
        inProgress.current.set(frame.index, { index: frame.index, ...frame.content_block });
        return;
      case "content_block_delta": {
        const block = inProgress.current.get(frame.index);
        if (block !== undefined) applyDelta(block, frame.delta);
        return;
      }
      case "content_block_stop": {
        const block = inProgress.current.get(frame.index);
        inProgress.current.delete(frame.index);
        if (block !== undefined) setBlocks((shown) => addBlock(shown, block));
        return;
      }
      case "message_stop":
        setIsStreaming(false);
        return;
      case "message_delta":
    }
  }, []);

  return { blocks, isStreaming, handleEvent };
}

function applyDelta(block: ShownBlock, delta: Delta): void {
  if (delta.type === "text_delta") {
    block.text = (block.text ?? "") + (delta.text ?? "");
    const subtype = delta.extras?.block_subtype;
    if (subtype !== undefined) block.type = TERMINAL[subtype];
  } else if (delta.type === "thinking_delta") {
    block.thinking = (block.thinking ?? "") + (delta.thinking ?? "");
  }
  if (delta.status !== undefined) block.processingStatus = delta.status;
}

/** Stores a result in its call, and appends any other block. */
function addBlock(shown: readonly ShownBlock[], block: ShownBlock): readonly ShownBlock[] {
  const isResult = block.type === "tool_result";
  if (!isResult || !shown.some(({ id }) => id !== undefined && id === block.tool_use_id))
    return [...shown, block];
  return shown.map((call) => {
    if (call.id !== block.tool_use_id) return call;
    const toolResultError = block.status === "error";
    return { ...call, toolResult: block.content ?? "", toolResultError, artifact: block.artifact };
  });
}
