/** `runtimeTools` returns the tools of the runtime, in the order in which a model reads them. */
import type { RuntimeContext } from "../attempt/context.ts";
import type { RunContext } from "../attempt/run-context.ts";
import { requestTools } from "../interactions/ending-request.ts";
import { askUserTool } from "../interactions/question.ts";
import { shareThoughtTool } from "../tool-calls/share-thought.ts";

export function runtimeTools({ requestKinds }: RuntimeContext): RunContext["runtimeTools"] {
  const tools = [shareThoughtTool, askUserTool, ...requestTools(requestKinds.values())];
  return new Map(tools.map((tool) => [tool.name, tool]));
}
