/**
 * Ends a turn: tells what is missing until nothing is open, then archives it, counts what it used, and lets the next one
 * begin, in one commit. Can be done again by whoever finds it half done.
 */
import { NO_USAGE } from "../../models/usage.ts";
import type { TurnAttempt } from "../attempt/attempt.ts";
import { type TurnOutcome, nextClosingEvents } from "../events/closing-events.ts";
import { commitForms } from "../interactions/form-ending-turn.ts";
import { withdrawPending } from "../interactions/withdraw.ts";

export async function finishTurn(attempt: TurnAttempt, end: TurnOutcome): Promise<void> {
  const { parts, pen, row, ref, spending } = attempt;
  const durationMs = Math.max(0, parts.env.now() - row.startedAt);
  const facts = {
    usage: spending.total,
    durationMs,
    runUsage: spending.byRun,
    stoppedText: parts.words.stopped,
    thoughtText: parts.words.thinkingLabel,
  };
  await withdrawPending(attempt);
  await commitForms(attempt);
  await pen.writeAll((turn) => nextClosingEvents(turn, end, facts));
  await attempt.archive(async (tx) => {
    let turns = 1;
    // A turn that asked none is one as well.
    const used = spending.byModel.size > 0 ? spending.byModel : new Map([[attempt.turn.agent, NO_USAGE]]);
    for (const [model, usage] of used) {
      await tx.usage.add(ref.tenant, { ...usage, key: `turn/${row.turn}/${model}`, model, turns });
      // A turn is one, however many models it asked.
      turns = 0;
    }
    await tx.journal.close(ref, row.turn);
    await tx.running.end(ref, row.turn);
  });
}
