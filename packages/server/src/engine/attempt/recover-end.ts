/**
 * `recoverEnd` takes from the events what an earlier attempt didn't commit before it died, if it had written the end of
 * the main run: the usage of the last step, and outcomes of quick tools.
 *
 * Invariant: events have all of it, because `commitHiddenOutcomes` comes before the end of the main run. Without such an
 * end, or after a commit of the step, it changes nothing.
 */
import { findToolResult, type Json, mainRun } from "@turnstream/protocol";
import { subtractUsage } from "../../models/usage.ts";
import { referenceTo } from "../../session/history/result-reference.ts";
import type { Agent } from "../../agent/define/agent.ts";
import { MAIN_RUN } from "../events/turn-writer.ts";
import type { TurnAttempt } from "./attempt.ts";
import { CALL_PREFIX, type JournalKey, stepKey } from "./journal-entries.ts";
import { toUsageRecord } from "./usage.ts";

/** @param agent the agent of the turn; its prices apply */
export function recoverEnd(attempt: TurnAttempt, agent: Agent | undefined): void {
  const { turn, usage } = attempt;
  const run = mainRun(turn);
  if (run === undefined || run.status === "running") return;
  const unsaved = run.usage && subtractUsage(run.usage, usage.of(MAIN_RUN).usage);
  if (unsaved !== null && unsaved.calls > 0)
    usage.add(
      MAIN_RUN,
      toUsageRecord({ pricing: agent?.pricing ?? null }, turn.model ?? turn.agent, unsaved),
    );
  for (const call of requestedCalls(attempt)) {
    const key: JournalKey<Json> = `${CALL_PREFIX}${call}`;
    const result = findToolResult(turn, call);
    if (result === undefined || result.status === "cancelled" || attempt.fromJournal(key) !== undefined)
      continue;
    attempt.journalLater(key, referenceTo(result));
  }
}

/** Returns the calls of the main run. Those of other runs are committed with the last step of their run. */
function requestedCalls(attempt: TurnAttempt): string[] {
  const calls: string[] = [];
  for (let n = 0; ; n++) {
    const step = attempt.fromJournal(stepKey(MAIN_RUN, n));
    if (step === undefined) return calls;
    calls.push(...step.calls.map(({ call }) => call));
  }
}
