/**
 * `shares` reports how often generated logs contain each hard situation, so that a test can require a minimum.
 */
import { emptyState, type SessionEvent, fold, type Turn } from "@turnstream/protocol";

interface LogFacts {
  readonly threeOpen: boolean;
  readonly nestedRuns: boolean;
  readonly parallelRuns: boolean;
  readonly takeover: boolean;
  readonly stopped: boolean;
  readonly failed: boolean;
  readonly latePayment: boolean;
  readonly severalTurns: boolean;
  readonly approvalInGroup: boolean;
  readonly question: boolean;
  readonly form: boolean;
  readonly resultsOutOfOrder: boolean;
}

function factsOf(events: readonly SessionEvent[]): LogFacts {
  let state = emptyState;
  const facts = {
    threeOpen: false,
    nestedRuns: false,
    parallelRuns: false,
    takeover: false,
    stopped: false,
    failed: false,
    latePayment: false,
    severalTurns: false,
    approvalInGroup: false,
    question: false,
    form: false,
    resultsOutOfOrder: false,
  };
  for (const event of events) {
    const before = state.turns.last();
    state = fold(state, event);
    const turn = state.turns.last();
    if (turn === undefined) continue;
    facts.threeOpen ||= turn.open >= 3;
    facts.nestedRuns ||= turn.runs.some((run) => isSub(turn, run.parent));
    facts.parallelRuns ||=
      turn.runs.filter((run) => run.status === "running" && run.parent !== null).length >= 2;
    facts.takeover ||= event.type === "turn.takeover" && event.blocks.length > 0;
    facts.stopped ||= event.type === "notice.stopped";
    facts.failed ||= event.type === "notice.error";
    facts.latePayment ||= event.type === "payment.update" && before?.status !== "running";
    facts.severalTurns ||= state.turns.length >= 2;
    facts.approvalInGroup ||= event.type === "approval.request" && turn.group !== null;
    facts.question ||= event.type === "question.request";
    facts.form ||= event.type === "form.request";
    facts.resultsOutOfOrder ||=
      event.type === "tool_result.end" && before !== undefined && overtakes(before, event.index);
  }
  return facts;
}

function isSub(turn: Turn, id: string | null): boolean {
  return turn.runs.some((run) => run.id === id && run.parent !== null);
}

/** Returns true if a result that started earlier is still open. */
function overtakes(turn: Turn, index: number): boolean {
  return turn.items
    .toArray()
    .some((item) => item?.kind === "tool_result" && item.end === null && item.index < index);
}

/** The share of logs, 0 to 1, in which each fact is true. */
export function shares(logs: readonly (readonly SessionEvent[])[]): Record<keyof LogFacts, number> {
  const facts = logs.map(factsOf);
  const names = Object.keys(facts[0] ?? {}) as (keyof LogFacts)[];
  const share = (name: keyof LogFacts): number => facts.filter((fact) => fact[name]).length / facts.length;
  return Object.fromEntries(names.map((name) => [name, share(name)])) as Record<keyof LogFacts, number>;
}
