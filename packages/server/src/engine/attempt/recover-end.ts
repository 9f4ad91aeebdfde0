/**
 * `recoverEnd` takes from the events what an earlier attempt didn't commit before it died, if it had written the end of
 * the main run: the usage of the last step, and outcomes of quick tools.
 *
 * Invariant: events have all of it, because `commitHiddenOutcomes` comes before the end of the main run. Without such an
 * end, or after a commit of the step, it changes nothing.
 */
import { findToolResult, type Json, mainRun } from "@turnstream/protocol";
import { subtractUsage } from "../../util/usage.ts";
import { referenceTo } from "../../session/history/result-reference.ts";
import type { TurnBody } from "../turn-body.ts";
import { MAIN_RUN } from "../events/turn-writer.ts";
import type { TurnAttempt } from "./attempt.ts";
import { CALL_PREFIX, type JournalKey, STEP_PREFIX, type StepEntry } from "./journal-keys.ts";

/** @param body the body of the turn; its prices apply */
export function recoverEnd(attempt: TurnAttempt, body: TurnBody | undefined): void {
  const { turn, usage } = attempt;
  const run = mainRun(turn);
  if (run === undefined || run.status === "running") return;
  const unsaved = run.usage && subtractUsage(run.usage, usage.of(MAIN_RUN).usage);
  if (unsaved !== null && unsaved.calls > 0)
    usage.add(MAIN_RUN, {
      usage: unsaved,
      model: turn.model ?? turn.agent,
      cost: body?.costOf(unsaved) ?? 0,
    });
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
    const key: JournalKey<StepEntry> = `${STEP_PREFIX}${MAIN_RUN}/${n}`;
    const step = attempt.fromJournal(key);
    if (step === undefined) return calls;
    calls.push(...step.calls.map(({ call }) => call));
  }
}
