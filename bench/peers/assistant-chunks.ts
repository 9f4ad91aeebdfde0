/** `toAssistantChunks` converts a turn to assistant-stream chunks, delta by delta. For benches only. */
import type { SessionEvent } from "@turnstream/protocol";
import type { AssistantStreamChunk } from "assistant-stream";
import { Calls } from "./calls.ts";

export function toAssistantChunks(events: readonly SessionEvent[]): AssistantStreamChunk[] {
  const calls = new Calls();
  /** The index of the message part of each block or call. */
  const places = new Map<string, number>();
  const begin = (id: string): void => void places.set(id, places.size);
  const path = (id: string): number[] => [places.get(id) ?? -1];
  return events.flatMap((event): AssistantStreamChunk[] => {
    switch (event.type) {
      case "thinking.start":
        begin(event.block);
        return [{ path: [], type: "part-start", part: { type: "reasoning" } }];
      case "text.start":
        begin(event.block);
        return [{ path: [], type: "part-start", part: { type: "text" } }];
      case "thinking.delta":
      case "text.delta":
        return [{ path: path(event.block), type: "text-delta", textDelta: event.text }];
      case "thinking.end":
      case "text.end":
        return [{ path: path(event.block), type: "part-finish" }];
      case "tool_call.start": {
        const toolCallId = calls.start(event).id;
        begin(toolCallId);
        const part = { type: "tool-call", toolCallId, toolName: event.name } as const;
        return [{ path: [], type: "part-start", part }];
      }
      case "tool_call.delta":
        return [{ path: path(calls.of(event).id), type: "text-delta", textDelta: event.args }];
      case "tool_call.end":
        return [{ path: path(calls.of(event).id), type: "tool-call-args-text-finish" }];
      case "tool_result.start":
        calls.start(event);
        return [];
      case "tool_result.end": {
        const at = path(calls.of(event).id);
        return [
          { path: at, type: "result", result: event.preview, isError: false },
          { path: at, type: "part-finish" },
        ];
      }
      case "turn.end": {
        const usage = { inputTokens: 120, outputTokens: 45 };
        return [{ path: [], type: "message-finish", finishReason: "stop", usage }];
      }
      default:
        return [];
    }
  });
}
