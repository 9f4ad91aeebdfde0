/** A scripted model that calls tools one after the other and records their results. */
import type { Prompt } from "../../../src/models/model.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";

export interface ToolResultText {
  readonly tool: string;
  readonly isError: boolean;
  /** The result as text, whatever its form. */
  readonly text: string;
}

/** The tool results in a prompt, in the order of their calls. */
function toolResultsIn(prompt: Prompt): ToolResultText[] {
  return prompt.flatMap((message) =>
    message.role === "tool"
      ? message.content.flatMap((part) => {
          if (part.type !== "tool-result") return [];
          const { output, toolName } = part;
          return [{ tool: toolName, isError: output.type.startsWith("error"), text: textOf(output) }];
        })
      : [],
  );
}

function textOf(output: { readonly type: string; readonly value?: unknown }): string {
  if (output.type === "content")
    return (output.value as readonly { text?: string }[]).map(({ text = "" }) => text).join("\n");
  return typeof output.value === "string" ? output.value : JSON.stringify(output.value);
}

type Call = readonly [tool: string, input: object | ((results: readonly ToolResultText[]) => object)];

/**
 * Makes the calls that the newest message's script contains, each in a step of its own.
 * @returns the model, and the results that it received last
 */
export function caller(calls: readonly Call[] | ((text: string) => readonly Call[])) {
  const last: { results: readonly ToolResultText[]; system: string; tools: readonly string[] } = {
    results: [],
    system: "",
    tools: [],
  };
  const model = scriptedModel(({ step, text, prompt, tools }) => {
    const ofTurn = prompt.slice(prompt.findLastIndex(({ role }) => role === "user"));
    const results = toolResultsIn(ofTurn);
    const [first] = prompt;
    Object.assign(last, {
      results,
      system: first?.role === "system" ? first.content : "",
      tools: tools.map(({ name }) => name),
    });
    const next = (typeof calls === "function" ? calls(text) : calls)[step];
    if (next === undefined) return [script.text("done")];
    const [tool, input] = next;
    return [script.toolCall(tool, typeof input === "function" ? input(results) : input)];
  });
  return { model, last };
}
