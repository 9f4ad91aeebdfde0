/** `readResult` and `readSession` read the scripted model's prompt: results of tools, and the session id. Pure. */
import type { ScriptCall } from "@turnstream/server/testing";

type Message = ScriptCall["prompt"][number];
type Result = Extract<Extract<Message, { role: "tool" }>["content"][number], { type: "tool-result" }>;

export interface ToolAnswer {
  readonly text: string;
  readonly isError: boolean;
}

/** Returns the newest result of a tool, or null if it hasn't been called in this turn. */
export function readResult({ prompt }: ScriptCall, tool: string): ToolAnswer | null {
  for (const message of prompt.toReversed()) {
    if (message.role === "user") return null;
    if (message.role !== "tool") continue;
    const result = message.content.findLast((part) => part.type === "tool-result" && part.toolName === tool);
    if (result?.type === "tool-result") return answerFrom(result);
  }
  return null;
}

function answerFrom({ output }: Result): ToolAnswer {
  const isError = output.type.startsWith("error") || output.type === "execution-denied";
  const value = "value" in output ? output.value : "";
  return { isError, text: typeof value === "string" ? value : JSON.stringify(value) };
}

/**
 * Reads the session id from the instructions. The scripted model counts its attempts per session.
 */
export function readSession({ prompt }: ScriptCall): string {
  const system = prompt.find((message) => message.role === "system");
  return /^Session: (.+)$/m.exec(system?.content ?? "")?.[1] ?? "";
}
