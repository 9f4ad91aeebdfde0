/**
 * `createPartOrderValidator` checks the stream parts of one answer and throws ModelError at the first invalid one.
 * Invariant: consumers rely on this order: a delta or an end needs an open block of its kind, and no open block starts
 * twice. They also rely on deltas that are text, and on tool calls with id, name and input text. Blocks that are still
 * open at the end are accepted. Does not check anything else.
 */
import { ModelError } from "./errors.ts";
import type { StreamPart } from "./model.ts";

/** @returns a function that checks the parts of one answer in order and throws ModelError at the first invalid one */
export function createPartOrderValidator(): (part: StreamPart) => void {
  const texts = new Set<string>();
  const thoughts = new Set<string>();
  const inputs = new Set<string>();

  return (part) => {
    switch (part.type) {
      case "text-delta":
        return within(texts, part.id, part.delta);
      case "tool-input-delta":
        return within(inputs, part.id, part.delta);
      case "reasoning-delta":
        return within(thoughts, part.id, part.delta);
      case "text-start":
        return open(texts, part.id);
      case "text-end":
        return close(texts, part.id);
      case "reasoning-start":
        return open(thoughts, part.id);
      case "reasoning-end":
        return close(thoughts, part.id);
      case "tool-input-start":
        return open(inputs, part.id);
      case "tool-input-end":
        return close(inputs, part.id);
      case "tool-call":
        if (typeof part.input !== "string" || part.toolCallId === "" || part.toolName === "")
          throw malformed("a tool call lacks its id, name or input");
        return;
      default:
        if (typeof part.type !== "string") throw malformed("a part has no type");
    }
  };
}

function open(ids: Set<string>, id: string): void {
  if (ids.has(id)) throw malformed("a block was started twice");
  ids.add(id);
}

function close(ids: Set<string>, id: string): void {
  if (!ids.delete(id)) throw malformed("a block that is not open was ended");
}

function within(ids: Set<string>, id: string, delta: unknown): void {
  if (!ids.has(id)) throw malformed("a delta is for a block that is not open");
  if (typeof delta !== "string") throw malformed("a delta is not text");
}

function malformed(what: string): ModelError {
  return new ModelError("MALFORMED", { cause: new Error(what) });
}
