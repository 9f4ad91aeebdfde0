/**
 * `callPhases` orders the calls of a step: calls that are in the log first, then those that the step did not write.
 * `writeDeferredCall` writes one of the latter.
 *
 * Invariant: the phases follow from the log and the step alone, so a later attempt finds the same order. A shared
 * thought and a call that stands alone are written while no other visible call waits.
 */
import { findToolCall } from "@turnstream/protocol";
import { closeOpenGroup, startGroup } from "../attempt/close-open-group.ts";
import { callLabel, displayOf, type RunContext } from "../attempt/run-context.ts";
import type { StepCall } from "../attempt/journal-entries.ts";
import { findThought, sharedThought } from "./share-thought.ts";

/** Returns lists of calls. The calls of one list run in parallel, and each list waits for the previous one. */
export function callPhases(scope: RunContext, calls: readonly StepCall[]): StepCall[][] {
  const deferred = calls.filter((call) => isDeferred(scope, call));
  const phases = [calls.filter((call) => !deferred.includes(call))];
  let lastKind: string | null = null;
  for (const call of deferred) {
    const kind = kindOf(scope, call);
    // Thoughts follow one another, so that their order stays.
    if (kind === lastKind && kind !== "thought") phases.at(-1)?.push(call);
    else phases.push([call]);
    lastKind = kind;
  }
  return phases;
}

function isDeferred(scope: RunContext, call: StepCall): boolean {
  const { turn } = scope.attempt;
  if (sharedThought(scope, call) !== null) return findThought(turn, call.call) === undefined;
  return findToolCall(turn, call.call) === undefined;
}

function kindOf(scope: RunContext, call: StepCall): "thought" | "standalone" | "grouped" {
  if (sharedThought(scope, call) !== null) return "thought";
  return displayOf(scope, call.name).isStandalone ? "standalone" : "grouped";
}

/** Writes a call if it is not in the log. */
export async function writeDeferredCall(scope: RunContext, { call, name, input }: StepCall): Promise<void> {
  const { attempt, run } = scope;
  const { writer } = attempt;
  if (findToolCall(writer.turn, call) !== undefined) return;
  const { isHidden, isStandalone } = displayOf(scope, name);
  if (isStandalone) await closeOpenGroup(scope);
  else if (!isHidden) await startGroup(scope);
  const label = callLabel(scope, name, input);
  const hidden = isHidden ? { hidden: true } : {};
  const place = await writer.start({ type: "tool_call.start", run, call, name, label, ...hidden });
  await writer.write({ type: "tool_call.end", ...place, input });
}
