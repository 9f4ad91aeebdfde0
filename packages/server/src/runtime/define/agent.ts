/**
 * `defineAgent` validates the options of an agent and fills in their defaults. It does not run agents.
 *
 * Invariant: unknown options, invalid, reserved or duplicate tool names, and limits below their minimum throw BAD_AGENT
 * when the program starts, not during a turn. Every field of an `Agent` has a value. Tool names are part of journals
 * and the wire.
 */
import type { Json, UserMessage, WithTools } from "@turnstream/protocol";
import type { Model, ModelOption, ModelSettings } from "../../models/model.ts";
import { resolveModel } from "../../models/named-model.ts";
import { toJsonSchema } from "../../models/tool-schema.ts";
import { RuntimeError } from "../errors.ts";
import { stringField } from "../../util/json.ts";
import type { StreamBody } from "./stream-body.ts";
import type { SummarizeGroup } from "./summarize-group.ts";
import { type ImageLimits, resolveImageLimits } from "./image-limits.ts";
import { DEFAULT_LIMITS, type Limits, type Pricing } from "./limits.ts";
import { checkTimeout, toSeconds } from "./answer-timeout.ts";
import { assertKnownOptions, type OptionKeys, show } from "./check-options.ts";
import type { ToolSource } from "./tool-source.ts";
import { type AiSdkTool, resolveTools } from "./ai-sdk-tool.ts";
import type { Tool } from "./tool.ts";

export type SubAgentTool = "single" | "perAgent";
/** In `chat` mode clients show no thinking. Tool calls, approvals and the answer are shown in both modes. */
export type DisplayMode = "agent" | "chat";

export interface AgentOptions {
  readonly name: string;
  /** A model of AI SDK 7, or the name of one at the AI Gateway, such as `anthropic/claude-sonnet-4-6`. */
  readonly model: ModelOption;
  /** System prompt. The worker calls a function once per run. Default: none. */
  readonly instructions?: string | ((context: InstructionsContext) => string | Promise<string>);
  /** Settings for the model, such as temperature and provider options. */
  readonly modelSettings?: ModelSettings;
  /** Made with `tool()`, or with the AI SDK's own `tool()`. */
  readonly tools?: Readonly<Record<string, Tool | AiSdkTool>>;
  /** Sources of further tools, such as MCP servers. Their tools are listed when a run starts. */
  readonly toolSources?: readonly ToolSource[];
  /** Agents that this agent can call. Each becomes a tool of the same name with one input, `task`. */
  readonly subAgents?: Readonly<Record<string, Agent>>;
  /**
   * How sub-agents are offered: `perAgent` makes each a tool of its own. `single` offers one tool `call_agent`, which
   * takes the name of the sub-agent and a task.
   * @default "perAgent"
   */
  readonly subAgentTool?: SubAgentTool;
  /** What the agent is good for. Agents that call this one read it. */
  readonly description?: string;
  /** What a run of this agent does, for users. Default: made from the name. */
  readonly label?: string;
  /** Lets the model write text outside of groups while it works, with the tool `share_thought`. @default false */
  readonly shareThought?: boolean;
  /**
   * Returns the header of a finished group of steps. The text after the group waits for it, at most 3 seconds. Null, an
   * empty text or an error gives the default: the label of the last call.
   */
  readonly summarizeGroup?: SummarizeGroup;
  /** Lets the model ask the user during a turn, with the tool `ask_user_question`. @default false */
  readonly askUser?: boolean;
  /** Lets the model request a form, with the tool `request_form`. The request ends the turn. @default false */
  readonly requestForms?: boolean;
  /**
   * Lets the model request a payment, with the tool `request_payment`, if the worker has the option `payments`. The
   * request ends the turn.
   * @default false
   */
  readonly requestPayments?: boolean;
  /**
   * How long the agent's questions, and forms that end their turn, wait for the user, in milliseconds (a multiple of
   * 1,000). Then the agent continues without an answer. A call can set its own. Default: no deadline.
   */
  readonly answerTimeoutMs?: number;
  /**
   * Adds memories of the user to the instructions: pinned ones before the others, otherwise the most recently changed
   * first.
   * @default false
   */
  readonly recallMemories?: boolean | Partial<RecallLimits>;
  /**
   * When the model gets the tool `lookup_attachments`. False: in every run that starts when the session has files.
   * True: in every run. For an agent of `defineStreamAgent`, true reads the files of a message before the body runs.
   * @default false
   */
  readonly attachments?: boolean;
  /**
   * Sends images of messages and tool results to the model, which must accept images. An object sets limits. False: the
   * model reads only their names, types and sizes.
   * @default false
   */
  readonly images?: boolean | Partial<ImageLimits>;
  /** How clients display turns of this agent, unless the message chooses another mode. @default "agent" */
  readonly displayMode?: DisplayMode;
  readonly limits?: Partial<Limits>;
  readonly pricing?: Pricing;
  /**
   * `maxAttempts` limits the model calls per step, including the first. `initialDelayMs` is the longest delay before
   * the second.
   * @default { maxAttempts: 5, initialDelayMs: 1000 }
   */
  readonly retry?: { readonly maxAttempts?: number; readonly initialDelayMs?: number };
  /** Title of a new session: from this model, or from the first line of the message (default), or `false` for none. */
  readonly title?: false | { readonly model?: ModelOption };
  /**
   * Summarizes older turns when the prompt exceeds `afterTokens`. Within a turn, it shortens tool results of older
   * steps.
   */
  readonly compaction?: Partial<Omit<Compaction, "model">> & { readonly model?: ModelOption | null };
}

/** Upper bounds for the memories in the instructions. @default { entries: 50, chars: 8000 } */
export interface RecallLimits {
  readonly entries: number;
  readonly chars: number;
}

export interface InstructionsContext {
  readonly tenant: string;
  readonly user: string;
  readonly session: string;
  /** The message that the turn answers. Null if the turn retries an earlier turn. */
  readonly message: UserMessage | null;
}

export interface Compaction {
  /** Estimated tokens of the prompt. @default 100000 */
  readonly afterTokens: number;
  /** How many of the newest turns are never summarized. @default 4 */
  readonly keepTurns: number;
  /** The model that writes the summary. Default: the agent's model. */
  readonly model: Model | null;
}

/** A page gets the types of `Tools` with `ToolsOf`. */
export interface Agent<Tools = unknown> extends WithTools<Tools> {
  readonly name: string;
  /** Null for an agent with a body of its own: see `defineStreamAgent`. */
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
  /** Null if groups have the default header. */
  readonly summarizeGroup: SummarizeGroup | null;
  readonly askUser: boolean;
  readonly requestForms: boolean;
  readonly requestPayments: boolean;
  /** Null without a deadline. */
  readonly answerTimeoutSeconds: number | null;
  readonly subAgentTool: SubAgentTool;
  /** Null if memories are not recalled. */
  readonly recallMemories: RecallLimits | null;
  readonly attachments: boolean;
  /** Null if the model gets no images. */
  readonly images: ImageLimits | null;
  readonly displayMode: DisplayMode;
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
  summarizeGroup: false,
  askUser: false,
  requestForms: false,
  requestPayments: false,
  answerTimeoutMs: false,
  recallMemories: false,
  attachments: false,
  images: false,
  displayMode: false,
  limits: false,
  pricing: false,
  retry: false,
  title: false,
  compaction: false,
};

/** Options that are objects, with the keys of each. */
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
    NonNullable<AgentOptions["compaction"]>
  >,
  recallMemories: { entries: false, chars: false } satisfies OptionKeys<Partial<RecallLimits>>,
} as const;

/** Below these values an agent could not do anything. */
const MINIMUM: Readonly<Record<string, number>> = {
  maxSteps: 1,
  maxParallelCalls: 1,
  toolTimeoutMs: 1,
  timeoutMs: 1,
};
/** Providers require a letter first in the names of tools. Ids of agents may be UUIDs, which can start with a digit. */
const TOOL_NAME = /^[A-Za-z][\w-]{0,63}$/;
const AGENT_NAME = /^[A-Za-z0-9][\w-]{0,63}$/;
const SOURCE_NAME = /^[A-Za-z][\w-]{0,31}$/;
export const SHARE_THOUGHT = "share_thought";
export const COMPACT = "compact_history";
export const ASK_USER = "ask_user_question";
export const REQUEST_FORM = "request_form";
export const REQUEST_PAYMENT = "request_payment";
export const CALL_AGENT = "call_agent";
export const LOOKUP_ATTACHMENTS = "lookup_attachments";
export const RESERVED: readonly string[] = [
  SHARE_THOUGHT,
  COMPACT,
  ASK_USER,
  REQUEST_FORM,
  REQUEST_PAYMENT,
  CALL_AGENT,
  LOOKUP_ATTACHMENTS,
];
const RECALL: RecallLimits = { entries: 50, chars: 8_000 };

// oxlint-disable-next-line typescript/no-generated-empty-object-type -- an agent without tools
export function defineAgent<Tools extends NonNullable<AgentOptions["tools"]> = Readonly<Record<never, Tool>>>(
  options: AgentOptions & { readonly tools?: Tools },
): Agent<Tools> {
  assertKnownOptions(options, NAMES, "an agent");
  return createAgent(options, resolveModel(options.model), null);
}

export function createAgent(
  options: Omit<AgentOptions, "model">,
  model: Model | null,
  body: StreamBody | null,
): Agent<never> {
  const { name, subAgents = {}, subAgentTool = "perAgent", toolSources = [] } = options;
  const tools = resolveTools(name, options.tools ?? {});
  if (!AGENT_NAME.test(name))
    fail(
      `the name ${JSON.stringify(name)} of the agent must be a letter or digit followed by up to 63 of A-Z a-z 0-9 _ -`,
    );
  for (const toolName of [...Object.keys(tools), ...Object.keys(subAgents)]) {
    checkToolName(toolName, `tool of the agent ${name}`);
    if (RESERVED.includes(toolName)) fail(`the tool name ${toolName} of the agent ${name} is reserved`);
  }
  const twice = Object.keys(subAgents).find((agentName) => agentName in tools);
  if (twice !== undefined) fail(`the agent ${name} has a tool and a sub-agent called ${twice}`);
  if (subAgentTool !== "single" && subAgentTool !== "perAgent")
    fail(
      `\`subAgentTool\` of the agent ${name} must be "single" or "perAgent", got ${JSON.stringify(subAgentTool)}`,
    );
  const { displayMode = "agent" } = options;
  if (displayMode !== "agent" && displayMode !== "chat")
    fail(`\`displayMode\` of the agent ${name} must be "agent" or "chat", got ${show(displayMode)}`);
  checkComponents(name, model, subAgents);
  checkSources(name, toolSources);
  for (const [within, names] of Object.entries(WITHIN)) {
    const value = options[within as keyof typeof WITHIN];
    if (typeof value === "object") assertKnownOptions(value, names, `\`${within}\` of the agent ${name}`);
  }
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  for (const [limit, value] of Object.entries(limits))
    if (!(value >= (MINIMUM[limit] ?? 0)))
      fail(`\`limits.${limit}\` of the agent ${name} is below its minimum`);
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
    summarizeGroup: options.summarizeGroup ?? null,
    askUser: options.askUser ?? false,
    requestForms: options.requestForms ?? false,
    requestPayments: options.requestPayments ?? false,
    answerTimeoutSeconds: resolveAnswerTimeout(name, options.answerTimeoutMs),
    subAgentTool,
    recallMemories: resolveRecallLimits(options.recallMemories ?? false),
    attachments: options.attachments ?? false,
    images: resolveImageLimits(options.images, name),
    displayMode,
    limits,
    pricing: options.pricing ?? null,
    retry: {
      maxAttempts: options.retry?.maxAttempts ?? 5,
      initialDelayMs: options.retry?.initialDelayMs ?? 1_000,
    },
    title: options.title === false ? false : { model: resolveOptional(options.title?.model) },
    compaction: {
      afterTokens: 100_000,
      keepTurns: 4,
      ...options.compaction,
      model: resolveOptional(options.compaction?.model),
    },
  };
}

function resolveOptional(model: ModelOption | null | undefined): Model | null {
  return model === undefined || model === null ? null : resolveModel(model);
}

function resolveAnswerTimeout(name: string, timeoutMs: number | undefined): number | null {
  if (timeoutMs === undefined) return null;
  try {
    checkTimeout(timeoutMs, "answerTimeoutMs");
  } catch (error) {
    fail(`the agent ${name}: ${(error as Error).message}`);
  }
  return toSeconds(timeoutMs);
}

function resolveRecallLimits(option: NonNullable<AgentOptions["recallMemories"]>): RecallLimits | null {
  if (option === false) return null;
  return { ...RECALL, ...(option === true ? {} : option) };
}

/** Returns the sub-agent of a call: the tool itself, or the one that the input of `call_agent` names. */
export function findSubAgent({ subAgents }: Agent, tool: string, input: Json): Agent | undefined {
  const name = tool === CALL_AGENT ? stringField(input, "agent") : tool;
  return name !== null && Object.hasOwn(subAgents, name) ? subAgents[name] : undefined;
}

/** Checks at runtime what the types promise, for plain JavaScript programs. */
function checkComponents(name: string, model: Model | null, agents: Readonly<Record<string, Agent>>): void {
  const isModel = model === null || (typeof model === "object" && model.specificationVersion === "v4");
  if (!isModel) fail(`the model of the agent ${name} must be a model of AI SDK 7 (specification v4)`);
  for (const [subName, component] of Object.entries(agents)) {
    if (component?.schemas === undefined)
      fail(`the sub-agent ${subName} of ${name} must be created with defineAgent()`);
    if (component.body !== null)
      fail(
        `the sub-agent ${subName} of ${name} must not be an agent of defineStreamAgent(), which can't be called as a tool`,
      );
  }
}

function checkSources(name: string, sources: readonly ToolSource[]): void {
  for (const source of sources) {
    if (typeof source?.open !== "function")
      fail(`the agent ${name} has a tool source without an open() function`);
    if (!SOURCE_NAME.test(source.name))
      fail(
        `the name ${JSON.stringify(source.name)} of a tool source of the agent ${name} must be a letter followed by up to 31 of A-Z a-z 0-9 _ -`,
      );
  }
  if (new Set(sources.map((source) => source.name)).size < sources.length)
    fail(`the agent ${name} has two sources with the same name`);
}

function checkToolName(name: string, of: string): void {
  if (!TOOL_NAME.test(name))
    fail(
      `the name ${JSON.stringify(name)} of the ${of} must be a letter followed by up to 63 of A-Z a-z 0-9 _ -`,
    );
}

function fail(what: string): never {
  throw new RuntimeError("BAD_AGENT", what);
}
