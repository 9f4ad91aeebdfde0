/**
 * `shareThoughtTool` is the tool `share_thought`: the model sends a message to the user while it continues to work.
 * `writeThought` writes the message as a text of its own, outside of groups.
 *
 * Invariant: the text carries the call, and a call has at most one, so a later attempt doesn't repeat it.
 */
import { listBlocks, type TextBlock, type Turn } from "@turnstream/protocol";
import { z } from "zod";
import { toJsonSchema } from "../../models/tool-schema.ts";
import { stringField } from "../../util/json.ts";
import { closeOpenGroup } from "../run/close-open-group.ts";
import type { StepCall } from "../run/journal-entries.ts";
import type { RunContext, RuntimeTool } from "../run/run-context.ts";
import { failedResult, successResult } from "../run/tool-result.ts";
import { SHARE_THOUGHT } from "../define/agent.ts";
import { markersIn } from "../events/citation-markers.ts";

const thoughtInput = z.strictObject({
  thought: z.string().describe("The message for the user, in full sentences."),
});

export const shareThoughtTool: RuntimeTool = {
  name: SHARE_THOUGHT,
  description: "Sends a message to the user while you continue to work.",
  input: toJsonSchema(thoughtInput, SHARE_THOUGHT),
  phase: "work",
  isOffered: (agent) => agent.shareThought,
  run(scope, call) {
    const thought = sharedThought(scope, call);
    if (thought === null) return failedResult("`thought` is missing.");
    return { ...successResult({ content: "Shown to the user." }, 0), preview: "", thought };
  },
};

/** Returns the text of a shared thought, or null for any other call and for one without a text. */
export function sharedThought({ pinned }: RunContext, { name, input }: StepCall): string | null {
  const isThought = name === SHARE_THOUGHT && pinned.tools.some((offered) => offered.name === name);
  return isThought ? stringField(input, "thought") : null;
}

/** Returns the text of a shared thought that is in the log. */
export function findThought(turn: Turn, call: string): TextBlock | undefined {
  return listBlocks(turn).find((block): block is TextBlock => block.kind === "text" && block.call === call);
}

/** Returns the block of the thought, and writes it if it doesn't exist. */
export async function writeThought(scope: RunContext, call: string, thought: string): Promise<string> {
  const { attempt, run, pool } = scope;
  const { writer } = attempt;
  const known = findThought(writer.turn, call);
  if (known !== undefined) return known.id;
  await closeOpenGroup(scope);
  const annotations = markersIn(thought, pool.has);
  // Without awaiting in between, because another branch of a sub-agent may write a text too.
  const { place, written } = writer.startSync({ type: "text.start", run, part: true, call });
  const cited = annotations.length === 0 ? {} : { annotations };
  await Promise.all([
    written,
    writer.write({ type: "text.delta", ...place, text: thought, ...cited }),
    writer.write({ type: "text.end", ...place, final: false }),
  ]);
  return place.block;
}
