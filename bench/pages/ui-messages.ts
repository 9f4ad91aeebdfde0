/** `toUiMessages` converts a folded session to AI SDK messages, for the earlier turns of the other libraries. */
import { currentInput, isBlock, findToolResult, type SessionState, type Turn } from "@turnstream/protocol";
import type { UIMessage } from "ai";

export function toUiMessages(state: SessionState): UIMessage[] {
  return state.turns.toArray().flatMap((turn) => [question(turn), answer(turn)]);
}

function question(turn: Turn): UIMessage {
  return {
    id: turn.message?.id ?? `${turn.id}-question`,
    role: "user",
    parts: [{ type: "text", text: turn.message?.text ?? "" }],
  };
}

function answer(turn: Turn): UIMessage {
  const parts = turn.items.toArray().flatMap((item): UIMessage["parts"] => {
    if (!isBlock(item)) return [];
    if (item.kind === "thinking") return [{ type: "reasoning", id: item.id, text: item.text, state: "done" }];
    if (item.kind === "text") return [{ type: "text", text: item.text, state: "done" }];
    if (item.kind !== "tool_call") return [];
    const output = findToolResult(turn, item.call)?.preview ?? "";
    const call = { toolCallId: item.call, input: currentInput(item), output };
    return [{ type: `tool-${item.name}`, state: "output-available", ...call }];
  });
  return { id: turn.id, role: "assistant", parts };
}
