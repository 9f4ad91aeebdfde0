/**
 * `createNestedPlan` builds a turn with sub-agents two deep and three wide, and `checkStopped` judges a turn that was
 * stopped while its tools ran. The tools ignore their abort signal.
 */
import { listBlocks, type SessionEvent, type Turn } from "@turnstream/protocol";
import type { TurnFollower } from "./turn-follower.ts";
import type { Plan, PlanCall } from "./turn-plan.ts";

const WIDE = 3;
/** How many tools of the plan run at once. */
export const TOOLS = WIDE * WIDE + 1;

/** @param ms how long each tool runs */
export function createNestedPlan(name: string, ms: number): Plan {
  const tool = (key: string, n: number): PlanCall => ({ tool: n % 2 === 0 ? "again" : "once", key, ms });
  const inner = (key: string, n: number): PlanCall => ({
    tool: "inner",
    plan: createPlan(key, [tool(`${key}.t`, n)]),
  });
  const helper = (key: string): PlanCall => ({
    tool: "helper",
    plan: createPlan(key, createWide(key, inner)),
  });
  return createPlan(name, [...createWide(name, helper), tool(`${name}.beside`, 0)]);
}

function createPlan(name: string, calls: readonly PlanCall[]): Plan {
  return {
    name,
    steps: [{ think: `on ${name}`, text: "", calls }],
    final: `Done with ${name}`,
    paceMs: 2,
  };
}

function createWide(name: string, createCall: (name: string, n: number) => PlanCall): PlanCall[] {
  return Array.from({ length: WIDE }, (_, n) => createCall(`${name}.${n}`, n));
}

/** Counts the running tools of a turn. */
export function countRunningTools({ running }: TurnFollower): number {
  if (running === undefined) return 0;
  return listBlocks(running).filter(
    (block) => block.kind === "tool_result" && block.end === null && ["again", "once"].includes(block.name),
  ).length;
}

/** @param least how many tools ran when the turn was stopped */
export function checkStopped(turn: Turn, events: readonly SessionEvent[], least: number): string[] {
  const own = events.filter((event) => "turn" in event && event.turn === turn.id);
  const blocks = listBlocks(turn);
  const results = blocks.filter((block) => block.kind === "tool_result");
  const running = turn.runs.filter(({ status }) => status !== "cancelled" && status !== "superseded");
  // A non-idempotent tool that a dead worker had started is cancelled too, because the user stopped the turn.
  const uncancelled = blocks.filter((block) => {
    if (block.kind !== "tool_call") return false;
    const [result, ...more] = results.filter(({ call }) => call === block.call);
    return more.length > 0 || result?.status !== "cancelled" || result.end === null;
  });
  const last = own
    .slice(-3)
    .map(({ type }) => type)
    .join();
  const wrong = {
    [`status ${turn.status}`]: turn.status !== "user_stopped",
    [`last events ${last}`]: last !== "notice.stopped,run.end,turn.end",
    "not one end": own.filter(({ type }) => type === "turn.end").length !== 1,
    "not one notice": blocks.filter(({ kind }) => kind === "notice").length !== 1,
    [`${turn.open} blocks left open`]: turn.open > 0,
    [`${running.length} runs were not cancelled`]: running.length > 0,
    [`${uncancelled.length} calls without one cancelled result`]: uncancelled.length > 0,
    [`only ${results.length} results`]: results.length < least,
  };
  return Object.entries(wrong).flatMap(([problem, isWrong]) => (isWrong ? [problem] : []));
}
