/** `shareThoughtTool` is the tool `share_thought`: the model sends a message to the user while it continues to work. */
import { type RuntimeTool, sharedThought } from "../attempt/run-context.ts";
import { failedResult, successResult } from "../attempt/tool-result.ts";
import { SHARE_THOUGHT } from "../define/agent.ts";

export const shareThoughtTool: RuntimeTool = {
  name: SHARE_THOUGHT,
  description: "Sends a message to the user while you continue to work.",
  input: {
    type: "object",
    properties: {
      thought: { type: "string", description: "The message for the user, in full sentences." },
    },
    required: ["thought"],
    additionalProperties: false,
  },
  phase: "work",
  isOffered: (agent) => agent.shareThought,
  run(scope, call) {
    const thought = sharedThought(scope, call);
    if (thought === null) return failedResult("`thought` is missing.");
    return { ...successResult({ content: "Shown to the user." }, 0), preview: "", thought };
  },
};
