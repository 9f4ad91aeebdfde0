/** One agent at work in an attempt: which run it is, and how its steps are told. Knows no model call and no tool run. */
import type { JsonSchema, ModelTool } from "../../models/model.ts";
import { type Json, mainRun } from "@turnstream/protocol";
import { truncateText, MAX_LABEL, findSubAgentRun } from "@turnstream/protocol/writer";
import {
  type Agent,
  ASK_USER,
  CALL_AGENT,
  findSubAgent,
  COMPACT,
  REQUEST_FORM,
  SHARE_THOUGHT,
} from "../define/agent.ts";
import type { TurnAttempt } from "./attempt.ts";
import type { PausableTimer } from "../../util/pausable-timer.ts";
import type { PinnedAgent, PinnedTool } from "./journal-entries.ts";
import { MAIN_RUN } from "../events/turn-writer.ts";
import { MarkerScanner } from "../events/citation-markers.ts";
import { ReferencePool } from "./reference-pool.ts";
import { type CallDisplay, StepWriter } from "../events/step-writer.ts";

export interface RunContext {
  readonly attempt: TurnAttempt;
  readonly agent: Agent;
  /** The main agent, whose limits hold for the whole turn. */
  readonly root: Agent;
  readonly pinned: PinnedAgent;
  /** The run's id in events. */
  readonly run: string;
  /** Its name in the journal: the call that started it, or `main`. The same in every attempt. */
  readonly path: string;
  readonly depth: number;
  /** Set for a tool that runs: its own time, which stands still while a person is waited for. */
  readonly toolClock?: PausableTimer;
  /** The references that it was given, and so may cite. Filled as its calls end. */
  readonly pool: ReferencePool;
  /** Set while the calls of a step run: which of them may ask for a form. */
  readonly formSlot?: FormSlot;
}

/** Of the calls of one step, the first that asks for a form; the others can't. */
export class FormSlot {
  #call: string | null;

  /** @param call the one that has asked in an earlier attempt */
  constructor(call: string | null) {
    this.#call = call;
  }

  take(call: string): boolean {
    this.#call ??= call;
    return this.#call === call;
  }
}

/** The main run, begun if it has not been. */
export async function mainRunContext(
  attempt: TurnAttempt,
  agent: Agent,
  pinned: PinnedAgent,
): Promise<RunContext> {
  const { writer } = attempt;
  if (mainRun(writer.turn) === undefined)
    await writer.write({ type: "run.start", run: MAIN_RUN, agent: agent.name });
  return {
    attempt,
    agent,
    root: agent,
    pinned,
    run: MAIN_RUN,
    path: MAIN_RUN,
    depth: 0,
    pool: new ReferencePool(),
  };
}

/** The run of a sub-agent inside the open result of its call, begun if it has not been. */
export async function subAgentContext(
  parent: RunContext,
  call: string,
  agent: Agent,
  pinned: PinnedAgent,
): Promise<RunContext> {
  const { attempt, depth, root } = parent;
  const { writer } = attempt;
  const known = findSubAgentRun(writer.turn, call);
  const run = known?.id ?? `r${writer.turn.runs.length}`;
  if (known === undefined) {
    await writer.write({
      type: "run.start",
      run,
      parent: parent.run,
      call,
      agent: agent.name,
      ...(agent.label === "" ? {} : { label: agent.label }),
    });
  }
  return { attempt, agent, root, pinned, run, path: call, depth: depth + 1, pool: new ReferencePool() };
}

/** Writes a step of this run. */
export function createStepWriter(scope: RunContext): StepWriter {
  const { attempt, run, path, pool } = scope;
  return new StepWriter({
    writer: attempt.writer,
    scanner: () => (pool.isEmpty ? null : new MarkerScanner(pool.has)),
    run,
    isMain: path === MAIN_RUN,
    displayOf: (tool) => displayOf(scope, tool),
    labelFor: (tool, input) => callLabel(scope, tool, input),
    thinkingLabel: attempt.context.strings.thinkingLabel,
  });
}

/** The tool of a source that the model was offered under this name. */
export function findToolSource({ pinned }: RunContext, name: string): PinnedTool["source"] {
  return pinned.tools.find((offered) => offered.name === name)?.source;
}

function displayOf(scope: RunContext, name: string): CallDisplay {
  const { agent } = scope;
  if (name === SHARE_THOUGHT || name === ASK_USER || name === REQUEST_FORM)
    return { isHidden: true, isStandalone: false, label: "" };
  const sourced = findToolSource(scope, name);
  if (sourced !== undefined) return { isHidden: false, isStandalone: false, label: sourced.label };
  // Whose label it is stands in the input.
  if (name === CALL_AGENT) return { isHidden: false, isStandalone: false, label: null };
  const tool = agent.tools[name];
  const sub = agent.subAgents[name];
  if (tool === undefined)
    return { isHidden: false, isStandalone: false, label: name === COMPACT ? "" : (sub?.label ?? "") };
  const { label, display } = tool;
  return {
    isHidden: !display.call,
    isStandalone: display.standalone,
    label: typeof label === "string" ? label : null,
  };
}

export function callLabel(scope: RunContext, name: string, input: Json): string {
  const { agent, attempt } = scope;
  const sourced = findToolSource(scope, name);
  if (sourced !== undefined) return sourced.label;
  const label = agent.tools[name]?.label ?? findSubAgent(agent, name, input)?.label ?? "";
  if (typeof label === "string") return label;
  try {
    return truncateText(label(input), MAX_LABEL);
  } catch (error) {
    // The input is not checked yet, so that a label may well stumble over it.
    attempt.context.onError(error, { during: `the label of the tool ${name}` });
    return "";
  }
}

/** The tools of a run as a model takes them. */
export function toModelTools({ tools }: PinnedAgent): ModelTool[] {
  return tools.map(({ name, description, input }) => ({
    type: "function",
    name,
    ...(description === "" ? {} : { description }),
    inputSchema: input as JsonSchema,
  }));
}
