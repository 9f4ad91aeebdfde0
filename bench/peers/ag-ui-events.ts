/** `toAgUiEvents` converts a turn to AG-UI events, delta by delta. For benches only. */
import { type BaseEvent, EventType } from "@ag-ui/client";
import type { SessionEvent } from "@turnstream/protocol";
import { Calls } from "./calls.ts";

export function toAgUiEvents(events: readonly SessionEvent[]): BaseEvent[] {
  const calls = new Calls();
  return events.flatMap((event) => eventsOf(event, calls));
}

function eventsOf(event: SessionEvent, calls: Calls): (BaseEvent & Readonly<Record<string, unknown>>)[] {
  switch (event.type) {
    case "turn.start":
      return [{ type: EventType.RUN_STARTED, threadId: "thread", runId: event.turn }];
    case "thinking.start":
      return [
        { type: EventType.REASONING_START, messageId: event.block },
        { type: EventType.REASONING_MESSAGE_START, messageId: event.block, role: "reasoning" },
      ];
    case "thinking.delta":
      return [{ type: EventType.REASONING_MESSAGE_CONTENT, messageId: event.block, delta: event.text }];
    case "thinking.end":
      return [
        { type: EventType.REASONING_MESSAGE_END, messageId: event.block },
        { type: EventType.REASONING_END, messageId: event.block },
      ];
    case "text.start":
      return [{ type: EventType.TEXT_MESSAGE_START, messageId: event.block, role: "assistant" }];
    case "text.delta":
      return [{ type: EventType.TEXT_MESSAGE_CONTENT, messageId: event.block, delta: event.text }];
    case "text.end":
      return [{ type: EventType.TEXT_MESSAGE_END, messageId: event.block }];
    case "tool_call.start":
      return [
        { type: EventType.TOOL_CALL_START, toolCallId: calls.start(event).id, toolCallName: event.name },
      ];
    case "tool_call.delta":
      return [{ type: EventType.TOOL_CALL_ARGS, toolCallId: calls.of(event).id, delta: event.args }];
    case "tool_call.end":
      return [{ type: EventType.TOOL_CALL_END, toolCallId: calls.of(event).id }];
    case "tool_result.start":
      calls.start(event);
      return [];
    case "tool_result.end": {
      const toolCallId = calls.of(event).id;
      return [
        { type: EventType.TOOL_CALL_RESULT, messageId: event.block, toolCallId, content: event.preview },
      ];
    }
    case "turn.end":
      return [{ type: EventType.RUN_FINISHED, threadId: "thread", runId: event.turn }];
    default:
      return [];
  }
}
