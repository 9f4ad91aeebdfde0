/**
 * `RunContext` describes one run of an agent in an attempt; `mainRunContext` and `subAgentContext` create it. They do not
 * call models or run tools.
 *
 * Invariant: `path` names the run in the journal and is the same in every attempt; `run` is its id in events. One call
 * per step can take the `RequestSlot`. A label function that throws never fails a call.
 */
import type { JsonSchema, ModelTool, Prompt, PromptMessage } from "../../models/model.ts";
import type { Json } from "@turnstream/protocol";
import { truncateText, MAX_LABEL, findSubAgentRun } from "@turnstream/protocol/writer";
import { type Agent, CALL_AGENT, findSubAgent, COMPACT } from "../define/agent.ts";
import type { Tool } from "../define/tool.ts";
import type { AgentTurn } from "./agent-turn.ts";
import type { Slot } from "../../util/fair-semaphore.ts";
import type { PausableTimer } from "../../util/pausable-timer.ts";
import type { PinnedAgent, PinnedTool, StepCall, ToolCallRecord } from "./journal-entries.ts";
import { MAIN_RUN } from "../../engine/events/turn-writer.ts";
import { ReferencePool } from "./reference-pool.ts";

/**
 * A tool of the runtime, whose calls are part of the turn itself, such as a question. Users see what it writes instead
 * of its call. Tools of an app are a `Tool`.
 */
export interface RuntimeTool {
  readonly name: string;
  readonly description: string;
  /** Describes the arguments for the model. */
  readonly input: JsonSchema;
  /** When the calls of a step run: work in parallel, then questions one at a time, and requests that end the turn last. */
  readonly phase: "work" | "question" | "request";
  isOffered(agent: Agent): boolean;
  run(scope: RunContext, call: StepCall): ToolCallRecord | Promise<ToolCallRecord>;
}

export interface RunContext extends AgentTurn {
  /** The tools of the runtime, by name. An agent is offered some of them. */
  readonly runtimeTools: ReadonlyMap<string, RuntimeTool>;
  readonly agent: Agent;
  /** The main agent. Its limits apply to the whole turn. */
  readonly root: Agent;
  readonly pinned: PinnedAgent;
  /** The run's id in events. */
  readonly run: string;
  /** The run's name in the journal: the call that started it, or `main`. It is the same in every attempt. */
  readonly path: string;
  readonly depth: number;
  /** Set for a running tool: its timeout, which pauses while the tool waits for a user. */
  readonly toolClock?: PausableTimer;
  /** Set for a running tool: its slot, which is free while the tool waits for a user. */
  readonly toolSlot?: Slot;
  /** The references that the run was given and may cite. Finished calls add theirs. */
  readonly pool: ReferencePool;
  /** Set while the calls of a step run: the one call that may request a request. */
  readonly requestSlot?: RequestSlot;
  /** Set while the calls of a step run: what the model read before the step, without the instructions. */
  readonly messages?: readonly PromptMessage[];
  /** Set for a sub-agent: the runs that called it, the main run first. */
  readonly inherited?: readonly RunContext[];
}

/** A call of a tool, with the input that its schema returned. */
export interface CheckedCall {
  readonly scope: RunContext;
  readonly call: StepCall;
  readonly tool: Tool;
  readonly input: unknown;
}

/** Reserves the request of a step for the first call that requests one. Other calls of the step can't. */
export class RequestSlot {
  #call: string | null;

  /** @param call the call that requested one in an earlier attempt */
  constructor(call: string | null) {
    this.#call = call;
  }

  take(call: string): boolean {
    this.#call ??= call;
    return this.#call === call;
  }
}

/** Returns the context of the main run, which has started. */
export function mainRunContext(
  turn: AgentTurn,
  agent: Agent,
  pinned: PinnedAgent,
  runtimeTools: RunContext["runtimeTools"],
): RunContext {
  const pool = new ReferencePool();
  return { ...turn, runtimeTools, agent, root: agent, pinned, run: MAIN_RUN, path: MAIN_RUN, depth: 0, pool };
}

/**
 * Returns the context of a sub-agent's run inside the open result of its call, and starts the run if it doesn't exist.
 */
export async function subAgentContext(
  parent: RunContext,
  call: string,
  agent: Agent,
  pinned: PinnedAgent,
): Promise<RunContext> {
  const { attempt, host, stepAttempts, modelCalls, references, runtimeTools, depth, root } = parent;
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
  const inherited = [...(parent.inherited ?? []), { ...parent, inherited: [] }];
  const pool = new ReferencePool();
  const shared = { attempt, host, stepAttempts, modelCalls, references, runtimeTools, root };
  return { ...shared, agent, pinned, run, path: call, depth: depth + 1, pool, inherited };
}

/** Returns the source of a tool that the model was offered under this name; undefined for other tools. */
export function findToolSource({ pinned }: RunContext, name: string): PinnedTool["source"] {
  return pinned.tools.find((offered) => offered.name === name)?.source;
}

/** How calls of a tool are displayed. */
interface CallDisplay {
  readonly isHidden: boolean;
  readonly isStandalone: boolean;
  /** Null if the label depends on the input: the call is then written once it is complete. */
  readonly label: string | null;
}

export function displayOf(scope: RunContext, name: string): CallDisplay {
  const { agent, runtimeTools } = scope;
  if (runtimeTools.has(name)) return { isHidden: true, isStandalone: false, label: "" };
  const sourced = findToolSource(scope, name);
  if (sourced !== undefined) return { isHidden: false, isStandalone: false, label: sourced.label };
  // The input names the sub-agent, and with it the label.
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
    return truncateText(label(input, { locale: attempt.locale }), MAX_LABEL);
  } catch (error) {
    // The input is not validated yet, so a label function can throw on it.
    attempt.context.onError(error, { during: `the label of the tool ${name}` });
    return "";
  }
}

export function systemPrompt({ instructions }: PinnedAgent): Prompt {
  return instructions === "" ? [] : [{ role: "system", content: instructions }];
}

/** Converts the tools of a run to the format of a model call. */
export function toModelTools({ tools }: PinnedAgent): ModelTool[] {
  return tools.map(({ name, description, input }) => ({
    type: "function",
    name,
    ...(description === "" ? {} : { description }),
    inputSchema: input as JsonSchema,
  }));
}
