/**
 * `checkPlan` compares an ended turn with its plan: every text, thought and call in order, and each result once and at
 * its own call. It also checks the runs of sub-agents. Pure.
 */
import {
  type Block,
  listBlocks,
  type Json,
  type Run,
  type ToolResultBlock,
  type Turn,
} from "@turnstream/protocol";
import { BUILT_IN_STRINGS } from "@turnstream/server";
import { createInput, listThoughts } from "./plan-script.ts";
import { type Plan, type PlanCall, formatToolResult } from "./turn-plan.ts";

export interface Verdict {
  readonly problems: string[];
  /** Keys of tools that ended as "outcome unknown". */
  readonly unknown: string[];
  /** Keys of tools that succeeded. */
  readonly done: string[];
  /** Keys of calls to tools or sub-agents that the agent no longer has. */
  readonly removed: string[];
}

const UNKNOWN = BUILT_IN_STRINGS.en.errors.OUTCOME_UNKNOWN;
/** The start of the text about a retried model call, up to its first number. */
const RETRYING = BUILT_IN_STRINGS.en.retrying(1, 1, 1).split("1")[0] ?? "";

/** @param mayBeCut true if a worker died during the turn, so that non-idempotent tools may have been cut off */
export function checkPlan(turn: Turn, plan: Plan, mayBeCut: boolean): Verdict {
  const verdict: Verdict = { problems: [], unknown: [], done: [], removed: [] };
  const report = (problem: string) => verdict.problems.push(`${plan.name}: ${problem}`);
  if (turn.status !== "end_turn") report(`ended with status ${turn.status}, expected end_turn`);
  if (turn.open > 0) report(`${turn.open} blocks are open`);
  const open = turn.runs.filter(({ status }) => status === "running").length;
  if (open > 0) report(`${open} runs are open`);
  const main = turn.runs.find(({ parent }) => parent === null);
  if (main === undefined) report("has no main run");
  else checkRun(turn, main, plan, mayBeCut, verdict, report);
  const finals = listBlocks(turn).filter((block) => block.kind === "text" && block.final);
  if (finals.length !== 1) report(`${finals.length} final texts instead of 1`);
  const planned = callsIn(plan, verdict.removed);
  const failed = new Set(turn.runs.flatMap(({ id, status }) => (status === "failed" ? [id] : [])));
  const results = listBlocks(turn).filter(
    ({ kind, run }) => kind === "tool_result" && !failed.has(run),
  ).length;
  if (results !== planned) report(`${results} results for ${planned} calls`);
  return verdict;
}

/** @param removed names of sub-agents that the agent no longer has */
function callsIn({ steps }: Plan, removed: readonly string[]): number {
  const calls = steps.flatMap((step) => step.calls);
  const within = (each: PlanCall) =>
    "plan" in each && !removed.includes(each.plan.name) ? callsIn(each.plan, removed) : 0;
  return calls.reduce((sum, each) => sum + 1 + within(each), 0);
}

function checkRun(
  turn: Turn,
  run: Run,
  plan: Plan,
  mayBeCut: boolean,
  verdict: Verdict,
  report: (problem: string) => void,
): void {
  const blocks = listBlocks(turn).filter((block) => block.run === run.id);
  const actual = blocks.flatMap(lineOf);
  const expected = linesOf(plan);
  const wrong = expected.findIndex((line, n) => !same(line, actual[n]));
  if (wrong >= 0 || actual.length !== expected.length) {
    const n = wrong < 0 ? expected.length : wrong;
    report(`in run ${run.id}, line ${n}: ${actual[n] ?? "nothing"} instead of ${expected[n] ?? "nothing"}`);
    return;
  }
  const calls = blocks.filter((block) => block.kind === "tool_call");
  for (const [n, planned] of plan.steps.flatMap((step) => step.calls).entries()) {
    const call = calls[n]?.call ?? "";
    const results = blocks.filter((block) => block.kind === "tool_result" && block.call === call);
    const [result] = results;
    if (results.length !== 1 || result?.kind !== "tool_result") {
      report(`${results.length} results of ${call}`);
      continue;
    }
    checkResult(result, planned, mayBeCut, verdict, report);
    if ("thought" in planned) {
      const thoughts = blocks.filter((block) => block.kind === "text" && block.call === call);
      const isRight =
        thoughts.length === 1 && thoughts[0]?.kind === "text" && thoughts[0].text === planned.thought;
      if (!isRight) report(`a shared thought appears ${thoughts.length} times, or has another text`);
    }
    if (!("plan" in planned)) continue;
    const sub = turn.runs.filter((each) => each.call === call && each.status !== "superseded");
    if (verdict.removed.includes(planned.plan.name)) {
      // A sub-agent that had journaled nothing leaves no run.
      if (sub.some(({ status }) => status !== "failed"))
        report(`a run of ${call}, whose agent was removed, has not failed`);
      continue;
    }
    if (sub.length !== 1 || sub[0] === undefined || sub[0].status !== "completed")
      report(`${sub.length} runs of ${call}`);
    else checkRun(turn, sub[0], planned.plan, mayBeCut, verdict, report);
  }
}

function checkResult(
  result: ToolResultBlock,
  planned: PlanCall,
  mayBeCut: boolean,
  { unknown, done, removed }: Verdict,
  report: (problem: string) => void,
): void {
  const { status, preview } = result;
  if ("key" in planned && planned.tool !== "again" && mayBeCut && status === "error" && preview === UNKNOWN) {
    unknown.push(planned.key);
    return;
  }
  // A call to a tool that a deploy removed ends as an error that the model can read.
  if (status === "error" && isRemoved(planned.tool, preview)) {
    removed.push(keyOf(planned));
    return;
  }
  if (status !== "success") return report(`${planned.tool} ${keyOf(planned)} ended as ${status}: ${preview}`);
  if ("key" in planned) done.push(planned.key);
  const expected =
    "plan" in planned ? planned.plan.final : "key" in planned ? formatToolResult(planned.key) : "";
  if (preview !== expected && !("plan" in planned && preview.startsWith(expected))) {
    report(`the result of ${keyOf(planned)} is unexpected: ${preview}`);
  }
}

const PASSING = ["extra", "added", "veiled", "passing", "turning"];

/** A tool that became a sub-agent finds no `task` in its call. A sub-agent that became a tool finds no arguments. */
const isRemoved = (tool: string, preview: string): boolean =>
  PASSING.includes(tool) &&
  [`There is no tool ${tool}`, "`task` is missing.", `The arguments don't fit the tool ${tool}`].some(
    (start) => preview.startsWith(start),
  );

function keyOf(planned: PlanCall): string {
  if ("key" in planned) return planned.key;
  if ("plan" in planned) return planned.plan.name;
  return "thought" in planned ? planned.thought : planned.tool;
}

/** A line that ends with … matches any continuation. */
function linesOf({ steps, final, echo }: Plan): string[] {
  const lines = steps.flatMap((step) => [
    ...listThoughts(step).map((text) => `thinking ${text}`),
    ...(step.text === "" ? [] : [`text ${step.text}`]),
    ...step.calls.map((each) => callLine(each.tool, createInput(each))),
  ]);
  return [...lines, `text ${final}${echo === true ? "…" : ""}`];
}

function same(expected: string, actual: string | undefined): boolean {
  return expected.endsWith("…") ? (actual?.startsWith(expected.slice(0, -1)) ?? false) : expected === actual;
}

function lineOf(block: Block): string[] {
  if (block.kind === "thinking") return block.text.startsWith(RETRYING) ? [] : [`thinking ${block.text}`];
  if (block.kind === "text") return block.call !== null || isLossText(block) ? [] : [`text ${block.text}`];
  if (block.kind === "tool_call") return [callLine(block.name, block.input)];
  // The result of its call shows the outcome.
  return block.kind === "tool_result" || block.kind === "approval" ? [] : [block.kind];
}

/** Returns true for the text that announces a loss of earlier turns. It is in no plan. */
export function isLossText(block: Block): boolean {
  return block.kind === "text" && block.text === BUILT_IN_STRINGS.en.historyLost;
}

/** Sorts the keys, so that their order makes no difference. */
function callLine(name: string, input: Json): string {
  const entries = typeof input === "object" && input !== null ? Object.entries(input) : [];
  return `call ${name} ${JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))}`;
}
