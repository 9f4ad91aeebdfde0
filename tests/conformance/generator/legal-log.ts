/**
 * `legalLog` generates valid session logs for properties. They contain parallel tools, nested and parallel sub-agents,
 * approvals and questions, late payments, several turns and writers, and stops, errors and takeovers at any moment.
 */
import type { SessionEvent } from "@turnstream/protocol";
import type fc from "fast-check";
import { LogWriter } from "../support/log-writer.ts";
import { type Choice, choices } from "./choice.ts";
import { movesAt } from "./moves.ts";

/** Generates logs of at most `maxEvents` events. A log can stop anywhere: a prefix of a valid log is valid. */
export function legalLog(maxEvents: number, options: { check?: boolean } = {}): fc.Arbitrary<SessionEvent[]> {
  return choices(maxEvents).map((list) => simulate(list, maxEvents, options.check ?? false));
}

function simulate(list: readonly Choice[], maxEvents: number, check: boolean): SessionEvent[] {
  const w = new LogWriter({ check }).session();
  for (const choice of list) {
    if (w.events.length >= maxEvents) break;
    const moves = movesAt(w, choice);
    let left = choice.move % moves.reduce((sum, [weight]) => sum + weight, 0);
    const move = moves.find(([weight]) => (left -= weight) < 0);
    move?.[1]();
  }
  return w.events.slice(0, maxEvents);
}
