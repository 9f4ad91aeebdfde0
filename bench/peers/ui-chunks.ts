/** `toUiChunks` converts a turn to AI SDK stream chunks, delta by delta. For benches only. */
import type { SessionEvent } from "@turnstream/protocol";
import type { UIMessageChunk } from "ai";
import { Calls } from "./calls.ts";

export function toUiChunks(events: readonly SessionEvent[]): UIMessageChunk[] {
  const calls = new Calls();
  return events.flatMap((event) => chunksOf(event, calls));
}

function chunksOf(event: SessionEvent, calls: Calls): UIMessageChunk[] {
  switch (event.type) {
    case "turn.start":
      return [{ type: "start", messageId: event.turn }, { type: "start-step" }];
    case "thinking.start":
      return [{ type: "reasoning-start", id: event.block }];
    case "thinking.delta":
      return [{ type: "reasoning-delta", id: event.block, delta: event.text }];
    case "thinking.end":
      return [{ type: "reasoning-end", id: event.block }];
    case "text.start":
      return [{ type: "text-start", id: event.block }];
    case "text.delta":
      return [{ type: "text-delta", id: event.block, delta: event.text }];
    case "text.end":
      return [{ type: "text-end", id: event.block }];
    case "tool_call.start":
      return [{ type: "tool-input-start", toolCallId: calls.start(event).id, toolName: event.name }];
    case "tool_call.delta": {
      const call = calls.of(event);
      call.args += event.args;
      return [{ type: "tool-input-delta", toolCallId: call.id, inputTextDelta: event.args }];
    }
    case "tool_call.end": {
      const { id: toolCallId, name: toolName, args } = calls.of(event);
      return [{ type: "tool-input-available", toolCallId, toolName, input: JSON.parse(args) as unknown }];
    }
    case "tool_result.start":
      calls.start(event);
      return [];
    case "tool_result.end":
      return [{ type: "tool-output-available", toolCallId: calls.of(event).id, output: event.preview }];
    case "turn.end":
      return [{ type: "finish-step" }, { type: "finish" }];
    default:
      return [];
  }
}
