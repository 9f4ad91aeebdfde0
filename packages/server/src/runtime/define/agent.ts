/**
 * What a developer says about an agent. `defineAgent` checks it when the program starts, so that a mistake is found
 * then and not in the middle of a turn. Never runs one.
 */
import type { Json, UserMessage } from "@turnstream/protocol";
import type { Model, ModelSettings } from "../../models/model.ts";
import { toJsonSchema } from "../../models/tool-schema.ts";
import { RuntimeError } from "../errors.ts";
import { stringField } from "../../util/json.ts";
import type { StreamBody } from "./stream-body.ts";
import { DEFAULT_LIMITS, type Limits, type Pricing } from "./limits.ts";
import { assertKnownOptions, type OptionKeys } from "./check-options.ts";
import type { ToolSource } from "./tool-source.ts";
import type { Tool } from "./tool.ts";

export type SubAgentTool = "single" | "perAgent";

export interface AgentOptions {
  readonly name: string;
  readonly model: Model;
  /** What the model is told first. Made once per turn, where it depends on who asks. */
  readonly instructions?: string | ((context: InstructionsContext) => string | Promise<string>);
  /** Temperature, provider options and the like. */
  readonly modelSettings?: ModelSettings;
  readonly tools?: Readonly<Record<string, Tool>>;
  /** Where more tools come from, such as MCP servers. What they offer is asked when a run begins. */
  readonly toolSources?: readonly ToolSource[];
  /** Each becomes a tool of the same name, which takes a task in words. */
  readonly subAgents?: Readonly<Record<string, Agent>>;
  /**
   * How the sub-agents are offered: each as a tool of its own, or all by one tool `call_agent`, which takes the name of the
   * sub-agent and a task.
   * @default "perAgent"
   */
  readonly subAgentTool?: SubAgentTool;
  /** For an agent that calls this one: what it is good for. */
  readonly description?: string;
  /** For people: what a run of it is for. */
  readonly label?: string;
  /** Lets the model say something in between, outside groups, by the tool `share_thought`. */
  readonly shareThought?: boolean;
  /** Lets the model ask the person in the middle of a turn, by the tool `ask_user_question`. */
  readonly askUser?: boolean;
  /** Lets the model ask the person to fill in a form, by the tool `request_form`, which ends the turn. */
  readonly requestForms?: boolean;
  /** Puts what is remembered of the person into the instructions of each turn: pinned first, then the newest. */
  readonly recallMemories?: boolean | Partial<RecallLimits>;
  /**
   * Offers `lookup_attachments` from the first turn on; otherwise it is offered once the session has files. Of an agent
   * from `defineStreamAgent`: the files of its messages are read before it runs.
   */
  readonly attachments?: boolean;
  readonly limits?: Partial<Limits>;
  readonly pricing?: Pricing;
  /** How often a model is asked, the first time included, and how long to wait at the most before the second. */
  readonly retry?: { readonly maxAttempts?: number; readonly initialDelayMs?: number };
  /** A title for a new session: from its first words (the default), from a model, or none. */
  readonly title?: false | { readonly model?: Model };
  /**
   * When what the model is told gets longer than this, older turns are summed up; within a turn, what tools gave in older
   * steps is shortened.
   */
  readonly compaction?: Partial<Compaction>;
}

/** How much of what is remembered is told at the most. */
export interface RecallLimits {
  readonly entries: number;
  readonly chars: number;
}

export interface InstructionsContext {
  readonly tenant: string;
  readonly user: string;
  readonly session: string;
  readonly message: UserMessage | null;
}

export interface Compaction {
  /** In tokens, estimated. */
  readonly afterTokens: number;
  /** How many of the newest turns stay as they are. */
  readonly keepTurns: number;
  /** Who writes the summary; the agent's own model when absent. */
  readonly model: Model | null;
}

export interface Agent {
  readonly name: string;
  /** Null for an agent whose turns have a body of their own: see `defineStreamAgent`. */
  readonly model: Model | null;
  readonly body: StreamBody | null;
  readonly instructions: NonNullable<AgentOptions["instructions"]>;
  readonly modelSettings: ModelSettings;
  readonly tools: Readonly<Record<string, Tool>>;
  readonly toolSources: readonly ToolSource[];
  readonly subAgents: Readonly<Record<string, Agent>>;
  /** The input of each tool as JSON Schema, by name. */
  readonly schemas: Readonly<Record<string, Json>>;
  readonly description: string;
  readonly label: string;
  readonly shareThought: boolean;
  readonly askUser: boolean;
  readonly requestForms: boolean;
  readonly subAgentTool: SubAgentTool;
  /** Null for none. */
  readonly recallMemories: RecallLimits | null;
  readonly attachments: boolean;
  readonly limits: Limits;
  readonly pricing: Pricing | null;
  readonly retry: { readonly maxAttempts: number; readonly initialDelayMs: number };
  readonly title: false | { readonly model: Model | null };
  readonly compaction: Compaction;
}

const NAMES: OptionKeys<AgentOptions> = {
  name: true,
  model: true,
  instructions: false,
  modelSettings: false,
  tools: false,
  toolSources: false,
  subAgents: false,
  subAgentTool: false,
  description: false,
  label: false,
  shareThought: false,
  askUser: false,
  requestForms: false,
  recallMemories: false,
  attachments: false,
  limits: false,
  pricing: false,
  retry: false,
  title: false,
  compaction: false,
};

/** Options that have options of their own. */
const WITHIN = {
  limits: {
    maxSteps: false,
    maxTokens: false,
    timeoutMs: false,
    toolTimeoutMs: false,
    maxResultChars: false,
    maxDepth: false,
    maxParallelCalls: false,
    maxCost: false,
  } satisfies OptionKeys<Partial<Limits>>,
  pricing: { inputPerMillion: true, outputPerMillion: true } satisfies OptionKeys<Pricing>,
  retry: { maxAttempts: false, initialDelayMs: false } satisfies OptionKeys<
    NonNullable<AgentOptions["retry"]>
  >,
  title: { model: false } satisfies OptionKeys<Exclude<AgentOptions["title"], false | undefined>>,
  compaction: { afterTokens: false, keepTurns: false, model: false } satisfies OptionKeys<
    Partial<Compaction>
  >,
  recallMemories: { entries: false, chars: false } satisfies OptionKeys<Partial<RecallLimits>>,
} as const;

/** Without these nothing would ever be done. */
const MINIMUM: Readonly<Record<string, number>> = {
  maxSteps: 1,
  maxParallelCalls: 1,
  toolTimeoutMs: 1,
  timeoutMs: 1,
};
const NAME = /^[A-Za-z][\w-]{0,63}$/;
const SOURCE_NAME = /^[A-Za-z][\w-]{0,31}$/;
export const SHARE_THOUGHT = "share_thought";
export const COMPACT = "compact_history";
export const ASK_USER = "ask_user_question";
export const REQUEST_FORM = "request_form";
export const CALL_AGENT = "call_agent";
export const LOOKUP_ATTACHMENTS = "lookup_attachments";
export const RESERVED: readonly string[] = [
  SHARE_THOUGHT,
  COMPACT,
  ASK_USER,
  REQUEST_FORM,
  CALL_AGENT,
  LOOKUP_ATTACHMENTS,
];
const RECALL: RecallLimits = { entries: 50, chars: 8_000 };

export function defineAgent(options: AgentOptions): Agent {
  assertKnownOptions(options, NAMES, "an agent");
  return createAgent(options, options.model, null);
}

export function createAgent(
  options: Omit<AgentOptions, "model">,
  model: Model | null,
  body: StreamBody | null,
): Agent {
  const { name, tools = {}, subAgents = {}, subAgentTool = "perAgent", toolSources = [] } = options;
  checkName(name, "agent");
  for (const toolName of [...Object.keys(tools), ...Object.keys(subAgents)]) {
    checkName(toolName, `tool of the agent ${name}`);
    if (RESERVED.includes(toolName)) fail(`the tool name ${toolName} of the agent ${name} is reserved`);
  }
  const twice = Object.keys(subAgents).find((agentName) => agentName in tools);
  if (twice !== undefined) fail(`the agent ${name} has a tool and a sub-agent called ${twice}`);
  if (subAgentTool !== "single" && subAgentTool !== "perAgent")
    fail(
      `\`subAgentTool\` of the agent ${name} must be "single" or "perAgent", got ${JSON.stringify(subAgentTool)}`,
    );
  checkComponents(name, model, tools, subAgents);
  checkSources(name, toolSources);
  for (const [within, names] of Object.entries(WITHIN)) {
    const value = options[within as keyof typeof WITHIN];
    if (typeof value === "object") assertKnownOptions(value, names, `\`${within}\` of the agent ${name}`);
  }
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  for (const [limit, value] of Object.entries(limits))
    if (!(value >= (MINIMUM[limit] ?? 0))) fail(`the limit ${limit} of the agent ${name} is too low`);
  return {
    name,
    model,
    body,
    instructions: options.instructions ?? "",
    modelSettings: options.modelSettings ?? {},
    tools,
    toolSources,
    subAgents,
    schemas: Object.fromEntries(
      Object.entries(tools).map(([toolName, { input }]) => [toolName, toJsonSchema(input, toolName) as Json]),
    ),
    description: options.description ?? "",
    label: options.label ?? "",
    shareThought: options.shareThought ?? false,
    askUser: options.askUser ?? false,
    requestForms: options.requestForms ?? false,
    subAgentTool,
    recallMemories: resolveRecallLimits(options.recallMemories ?? false),
    attachments: options.attachments ?? false,
    limits,
    pricing: options.pricing ?? null,
    retry: {
      maxAttempts: options.retry?.maxAttempts ?? 5,
      initialDelayMs: options.retry?.initialDelayMs ?? 1_000,
    },
    title: options.title === false ? false : { model: options.title?.model ?? null },
    compaction: { afterTokens: 100_000, keepTurns: 4, model: null, ...options.compaction },
  };
}

function resolveRecallLimits(option: NonNullable<AgentOptions["recallMemories"]>): RecallLimits | null {
  if (option === false) return null;
  return { ...RECALL, ...(option === true ? {} : option) };
}

/** The sub-agent that a call is for: the tool itself, or the one that `call_agent` names. */
export function findSubAgent({ subAgents }: Agent, tool: string, input: Json): Agent | undefined {
  const name = tool === CALL_AGENT ? stringField(input, "agent") : tool;
  return name !== null && Object.hasOwn(subAgents, name) ? subAgents[name] : undefined;
}

/** For programs whose types nobody checks. */
function checkComponents(
  name: string,
  model: Model | null,
  tools: Readonly<Record<string, Tool>>,
  agents: Readonly<Record<string, Agent>>,
): void {
  const isModel = model === null || (typeof model === "object" && model.specificationVersion === "v4");
  if (!isModel) fail(`the model of the agent ${name} is not one of AI SDK 7 (specification v4)`);
  for (const [toolName, component] of Object.entries(tools))
    if (typeof component?.run !== "function")
      fail(`the tool ${toolName} of the agent ${name} was not made by tool()`);
  for (const [subName, component] of Object.entries(agents)) {
    if (component?.schemas === undefined)
      fail(`the sub-agent ${subName} of ${name} was not made by defineAgent()`);
    if (component.body !== null)
      fail(`the sub-agent ${subName} of ${name} is a stream of its own, which can't be called`);
  }
}

function checkSources(name: string, sources: readonly ToolSource[]): void {
  for (const source of sources) {
    if (typeof source?.open !== "function") fail(`the agent ${name} has a source that is not a ToolSource`);
    if (!SOURCE_NAME.test(source.name))
      fail(
        `the name ${JSON.stringify(source.name)} of a source of the agent ${name} is not a letter followed by up to 31 of A-Z a-z 0-9 _ -`,
      );
  }
  if (new Set(sources.map((source) => source.name)).size < sources.length)
    fail(`the agent ${name} has two sources of the same name`);
}

function checkName(name: string, of: string): void {
  if (!NAME.test(name))
    fail(
      `the name ${JSON.stringify(name)} of the ${of} is not a letter followed by up to 63 of A-Z a-z 0-9 _ -`,
    );
}

function fail(what: string): never {
  throw new RuntimeError("BAD_AGENT", what);
}
