/** `RUNTIME_TOOLS` are the tools of the runtime, in the order in which a model reads them. */
import type { RunContext } from "../attempt/run-context.ts";
import { requestFormTool } from "../interactions/form-ending-turn.ts";
import { requestPaymentTool } from "../interactions/payment-ending-turn.ts";
import { askUserTool } from "../interactions/question.ts";
import { shareThoughtTool } from "../tool-calls/share-thought.ts";

export const RUNTIME_TOOLS: RunContext["runtimeTools"] = new Map(
  [shareThoughtTool, askUserTool, requestFormTool, requestPaymentTool].map((tool) => [tool.name, tool]),
);
