/**
 * Compares a turn that has ended with its plan: everything said and called, in order, each result once and in its own
 * place, sub-agents included. Pure.
 */
import {
  type Block,
  listBlocks,
  type Json,
  type Run,
  type ToolResultBlock,
  type Turn,
} from "@turnstream/protocol";
import { DEFAULT_STRINGS } from "@turnstream/server";
import { createInput, listThoughts } from "./plan-script.ts";
import { type Plan, type PlanCall, formatToolResult } from "./turn-plan.ts";

interface Verdict {
  readonly problems: string[];
  /** Keys of tools that ended with their outcome unknown. */
  readonly unknown: string[];
  /** Keys of tools that ended well. */
  readonly done: string[];
  /** Keys of calls of a tool that isn't there (any more). */
  readonly removed: string[];
}

const UNKNOWN = DEFAULT_STRINGS.errors.OUTCOME_UNKNOWN;
/** How a wait for a busy model is told, up to its first number. */
const RETRYING = DEFAULT_STRINGS.retrying(1, 1, 1).split("1")[0] ?? "";

/** @param mayBeCut whether a worker died in it, so that tools that may not run again can have been cut off */
export function checkPlan(turn: Turn, plan: Plan, mayBeCut: boolean): Verdict {
  const verdict: Verdict = { problems: [], unknown: [], done: [], removed: [] };
  const report = (problem: string) => verdict.problems.push(`${plan.name}: ${problem}`);
  if (turn.status !== "end_turn") report(`ended as ${turn.status}`);
  if (turn.open > 0) report(`${turn.open} blocks are open`);
  const open = turn.runs.filter(({ status }) => status === "running").length;
  if (open > 0) report(`${open} runs are open`);
  const main = turn.runs.find(({ parent }) => parent === null);
  if (main === undefined) report("no main run");
  else checkRun(turn, main, plan, mayBeCut, verdict, report);
  const finals = listBlocks(turn).filter((block) => block.kind === "text" && block.final);
  if (finals.length !== 1) report(`${finals.length} final texts`);
  const planned = callsIn(plan, verdict.removed);
  const failed = new Set(turn.runs.flatMap(({ id, status }) => (status === "failed" ? [id] : [])));
  const results = listBlocks(turn).filter(
    ({ kind, run }) => kind === "tool_result" && !failed.has(run),
  ).length;
  if (results !== planned) report(`${results} results for ${planned} calls`);
  return verdict;
}

/** @param removed sub-agents that could not go on */
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
      if (!isRight) report(`a shared thought is there ${thoughts.length} times, or is another`);
    }
    if (!("plan" in planned)) continue;
    const sub = turn.runs.filter((each) => each.call === call && each.status !== "superseded");
    if (verdict.removed.includes(planned.plan.name)) {
      // Nothing is left of one that had journaled nothing.
      if (sub.some(({ status }) => status !== "failed"))
        report(`a run of ${call} that is gone has not failed`);
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
  // What a deploy has taken away is an error that the model can read.
  if (status === "error" && isRemoved(planned.tool, preview)) {
    removed.push(keyOf(planned));
    return;
  }
  if (status !== "success") return report(`${planned.tool} ${keyOf(planned)} ended as ${status}: ${preview}`);
  if ("key" in planned) done.push(planned.key);
  const expected =
    "plan" in planned ? planned.plan.final : "key" in planned ? formatToolResult(planned.key) : "";
  if (preview !== expected && !("plan" in planned && preview.startsWith(expected))) {
    report(`the result of ${keyOf(planned)} is ${preview}`);
  }
}

const PASSING = ["extra", "added", "veiled", "passing", "turning"];

/** A tool that has become a sub-agent finds no task in its call, and the other way round no arguments. */
const isRemoved = (tool: string, preview: string): boolean =>
  PASSING.includes(tool) &&
  [`There is no tool ${tool}`, "`task` is missing.", `The arguments don't fit the tool ${tool}`].some(
    (start) => preview.startsWith(start),
  );

const keyOf = (planned: PlanCall): string =>
  "key" in planned ? planned.key : "plan" in planned ? planned.plan.name : planned.thought;

/** Ends with … where more may follow. */
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
  if (block.kind === "text") return block.call === null ? [`text ${block.text}`] : [];
  if (block.kind === "tool_call") return [callLine(block.name, block.input)];
  // What became of it is seen by its call's result.
  return block.kind === "tool_result" || block.kind === "approval" ? [] : [block.kind];
}

/** However the keys are ordered. */
function callLine(name: string, input: Json): string {
  const entries = typeof input === "object" && input !== null ? Object.entries(input) : [];
  return `call ${name} ${JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))}`;
}
