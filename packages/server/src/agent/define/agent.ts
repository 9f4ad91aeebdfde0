/**
 * `defineAgent` validates the options of an agent and fills in their defaults. It does not run agents.
 *
 * Invariant: unknown options, invalid, reserved or duplicate tool names, and limits below their minimum throw BAD_AGENT
 * when the program starts, not during a turn. Every field of an `Agent` has a value. Tool names are part of journals
 * and the wire.
 */
import type { Json, UserMessage, WithTools } from "@turnstream/protocol";
import { REQUEST_FORM } from "@turnstream/protocol/writer";
import { z } from "zod";
import type { Model, ModelOption, ModelSettings } from "../../models/model.ts";
import { resolveModel } from "../../models/named-model.ts";
import { toJsonSchema } from "../../models/tool-schema.ts";
import { badAgent } from "../errors.ts";
import { stringField } from "../../util/json.ts";
import {
  func,
  integer,
  object,
  type OptionsInput,
  type OptionsOutput,
  parseOptions,
  toggle,
} from "../../util/parse-options.ts";
import type { StreamBody } from "./stream-body.ts";
import type { SummarizeGroup } from "./summarize-group.ts";
import { imageLimits, limits, pricing } from "./limits.ts";
import { isTimeout, TIMEOUT_RULE, toSeconds } from "./answer-timeout.ts";
import type { ToolSource } from "./tool-source.ts";
import { type AiSdkTool, resolveTools } from "./ai-sdk-tool.ts";
import type { Tool } from "./tool.ts";

/** Providers require a letter first in the names of tools. Ids of agents may be UUIDs, which can start with a digit. */
const TOOL_NAME = /^[A-Za-z][\w-]{0,63}$/;
const AGENT_NAME = /^[A-Za-z0-9][\w-]{0,63}$/;
const SOURCE_NAME = /^[A-Za-z][\w-]{0,31}$/;
export const SHARE_THOUGHT = "share_thought";
export const COMPACT = "compact_history";
export const ASK_USER = "ask_user_question";
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

export interface InstructionsContext {
  readonly tenant: string;
  readonly user: string;
  readonly session: string;
  /** The message that the turn answers. Null if the turn retries an earlier turn. */
  readonly message: UserMessage | null;
}

type Instructions = string | ((context: InstructionsContext) => string | Promise<string>);

/** Upper bounds for the memories in the instructions. */
const recallLimits = z.strictObject({
  /** Memories in the instructions. @default 50 */
  entries: integer().default(50),
  /** Characters of all memories in the instructions. @default 8000 */
  chars: integer().default(8_000),
});

export type RecallLimits = z.output<typeof recallLimits>;

const retry = z.strictObject({
  /** Model calls per step, including the first. @default 5 */
  maxAttempts: integer(1).default(5),
  /** The longest delay before the second call. @default 1000 */
  initialDelayMs: integer().default(1_000),
});

const optionalModel = z
  .custom<ModelOption | null>()
  .optional()
  .transform((option): Model | null =>
    option === undefined || option === null ? null : resolveModel(option),
  );

const title = z.union([
  z.literal(false),
  z.strictObject({
    /** The model that writes the title. @default the first line of the message */
    model: optionalModel,
  }),
]);

const compaction = z.strictObject({
  /** Estimated tokens of the prompt. @default 100000 */
  afterTokens: integer().default(100_000),
  /** How many of the newest turns are never summarized. @default 4 */
  keepTurns: integer().default(4),
  /** The model that writes the summary. @default the agent's model */
  model: optionalModel,
});

const agentShape = {
  /**
   * A letter or digit, then up to 63 characters of `A-Z a-z 0-9 _ -`. A UUID is allowed. A message selects its agent
   * with this name: in the field `agent_id` of a request, or as `agentId` in the React composer.
   */
  name: z.string().regex(AGENT_NAME, "a letter or digit followed by up to 63 of A-Z a-z 0-9 _ -"),
  /**
   * A model of AI SDK 7, for example `anthropic("claude-sonnet-4-6")`. Or a name, such as
   * `"anthropic/claude-sonnet-4-6"`, see [coming from the AI SDK](from-ai-sdk.md#models).
   */
  model: z.custom<ModelOption>((model) => model !== undefined),
  /**
   * System prompt. A function receives the ids `tenant`, `user` and `session`, and the user's `message`. `message` is
   * `null` if the turn retries an earlier turn. The worker calls the function once per run.
   */
  instructions: z.custom<Instructions>(isTextOrFunction, "a text or a function").default(""),
  /** Settings of every model call, such as temperature and provider options. */
  modelSettings: object<ModelSettings>().default({}),
  /** Tools by name: your own, [built-in tools](built-in-tools.md), and [tools of the AI SDK](from-ai-sdk.md#tools). */
  tools: object<Readonly<Record<string, Tool | AiSdkTool>>>().default({}),
  /**
   * Sources of more tools, such as [MCP servers](mcp.md). The worker asks each source for its tools when a run starts.
   * @default []
   */
  toolSources: z.custom<readonly ToolSource[]>(Array.isArray, "a list of tool sources").default([]),
  /** [Sub-agents](agents.md#sub-agents) by name. Each becomes a tool with one input, `task`. */
  subAgents: object<Readonly<Record<string, Agent>>>().default({}),
  /**
   * `"single"` offers all sub-agents as one tool, `call_agent`, with the inputs `agent` and `task`. Use `"single"` if
   * the agent has many sub-agents.
   * @default "perAgent"
   */
  subAgentTool: z.enum(["single", "perAgent"]).default("perAgent"),
  /**
   * What this agent is good at. Other agents can have this agent as a sub-agent. Their models read this text to decide
   * when to call this agent.
   */
  description: z.string().default(""),
  /**
   * A short text that describes what this agent does. The user sees this label when the agent runs as a sub-agent. If
   * it is empty, the user sees a label that is derived from the name.
   */
  label: z.string().default(""),
  /**
   * Lets the model send a remark to the user while it works, with the tool `share_thought`. The remark stands outside
   * of groups. Beside other calls of the same step, it stands before them if the model requested it first, and
   * otherwise after their results.
   * @default false
   */
  shareThought: z.boolean().default(false),
  /**
   * Returns the [header of a finished group](agents.md#group-headers) of steps. Null, an empty text or an error gives
   * the default: the label of the last call. The text after the group waits for the function, at most 3 seconds.
   */
  summarizeGroup: func<SummarizeGroup>().nullable().default(null),
  /**
   * Lets the model [ask the user a question](approvals.md#questions) with the tool `ask_user_question`.
   * @default false
   */
  askUser: z.boolean().default(false),
  /**
   * Lets the model request a [form](forms.md) with the tool `request_form`. The request ends the turn. When the user
   * submits the form, a new turn starts, in which the model reads the values as the result of the call.
   * @default false
   */
  requestForms: z.boolean().default(false),
  /** Tools of [features](features.md) that the model gets, by name, such as `request_payment`. @default [] */
  featureTools: z.array(z.string()).readonly().default([]),
  /**
   * How long [questions](approvals.md#questions), and [forms](forms.md) that end their turn, wait for the user, in
   * milliseconds (a multiple of 1,000). Then the agent continues and reads that there was no answer. A single question
   * or form can set its own deadline. Without a value they wait until the user decides.
   */
  answerTimeoutMs: z.custom<number>(isTimeout, TIMEOUT_RULE).optional(),
  /**
   * Adds the user's [memories](built-in-tools.md#memory) to the instructions. A memory is a fact about the user that
   * the tool `memory` saved. Pinned memories come before the others. Otherwise, the most recently changed memory comes
   * first. `true` means at most 50 memories and 8,000 characters: `{ entries: 50, chars: 8000 }`.
   * @default false
   */
  recallMemories: toggle(recallLimits).prefault(false),
  /**
   * When the model gets the tool `lookup_attachments`, which reads and searches the session's [files](files.md).
   * `false`: in every run that starts when the session has files. `true`: in every run, even without files.
   * @default false
   */
  attachments: z.boolean().default(false),
  /**
   * Sends [images](files.md#let-the-model-see-images) of messages and tool results to the model. The model must accept
   * images. An object sets the limits. With `false`, the model reads only the name, type and size of an image.
   * @default false
   */
  images: toggle(imageLimits).prefault(false),
  /**
   * How clients [display](agents.md#display-mode) the turns of this agent, unless a message chooses another mode.
   * @default "agent"
   */
  displayMode: z.enum(["agent", "chat"]).default("agent"),
  /** Upper bounds for turns, runs, steps and tool calls, see [Limits](agents.md#limits). */
  limits: limits.prefault({}),
  /**
   * Price of a million tokens, as `{ inputPerMillion, outputPerMillion }`. Without prices, the agent's model calls
   * count as free for `limits.maxCost`.
   */
  pricing: pricing.nullable().default(null),
  /**
   * Retries of failed model calls. `maxAttempts` includes the first call. The worker waits a random time before each
   * retry: at most `initialDelayMs` before the second call. This maximum doubles with each further call, up to 30
   * seconds. If the provider asks for a delay, the worker waits at least that long. If the provider asks for more than
   * 60 seconds, the worker doesn't retry.
   * @default { maxAttempts: 5, initialDelayMs: 1000 }
   */
  retry: retry.prefault({}),
  /**
   * Title of a new session. By default, it is the first line of the message, cut to 60 characters. With `{ model }`,
   * this model writes the title. With `false`, the session gets no title.
   */
  title: title.prefault({}),
  /**
   * If the estimated size of the prompt exceeds `afterTokens` tokens, a model summarizes older turns. It never
   * summarizes the newest `keepTurns` turns. A turn reads earlier turns of about twice `afterTokens` at most, or 4
   * million characters. `model` sets the model that writes the summary. The default is the agent's model.
   * @default { afterTokens: 100000, keepTurns: 4 }
   */
  compaction: compaction.prefault({}),
};

export interface AgentOptions extends OptionsInput<typeof agentShape> {}

type Resolved = OptionsOutput<typeof agentShape>;
/** In `chat` mode clients show no thinking. Tool calls, approvals and the answer are shown in both modes. */
export type DisplayMode = Resolved["displayMode"];

/** The options with their defaults, for the runtime. A page gets the types of `Tools` with `ToolsOf`. */
export interface Agent<Tools = unknown>
  extends Omit<Resolved, "model" | "tools" | "answerTimeoutMs">, WithTools<Tools> {
  /** Null for an agent with a body of its own: see `defineStreamAgent`. */
  readonly model: Model | null;
  readonly body: StreamBody | null;
  readonly tools: Readonly<Record<string, Tool>>;
  /** The input of each tool as JSON Schema, by name. */
  readonly schemas: Readonly<Record<string, Json>>;
  /** Null without a deadline. */
  readonly answerTimeoutSeconds: number | null;
}

export const agentSchema = z.strictObject(agentShape);

// oxlint-disable-next-line typescript/no-generated-empty-object-type -- an agent without tools
export function defineAgent<Tools extends NonNullable<AgentOptions["tools"]> = Readonly<Record<never, Tool>>>(
  options: AgentOptions & { readonly tools?: Tools | undefined },
): Agent<Tools> {
  const { model, ...resolved } = parseAgent(agentSchema, options);
  return createAgent(resolved, resolveModel(model), null);
}

/** Throws BAD_AGENT with the option, its value and what is expected. */
export function parseAgent<Output>(schema: z.ZodType<Output>, options: unknown): Output {
  const { name } = Object(options) as { readonly name?: unknown };
  const of = typeof name === "string" ? `the agent ${name}` : "an agent";
  return parseOptions(schema, options, of, badAgent);
}

export function createAgent(
  { answerTimeoutMs, ...options }: Omit<Resolved, "model">,
  model: Model | null,
  body: StreamBody | null,
): Agent<never> {
  const { name, subAgents, toolSources } = options;
  const tools = resolveTools(name, options.tools);
  for (const toolName of [...Object.keys(tools), ...Object.keys(subAgents)]) {
    checkToolName(toolName, `tool of the agent ${name}`);
    if (RESERVED.includes(toolName)) fail(`the tool name ${toolName} of the agent ${name} is reserved`);
  }
  const twice = Object.keys(subAgents).find((agentName) => agentName in tools);
  if (twice !== undefined) fail(`the agent ${name} has a tool and a sub-agent called ${twice}`);
  checkComponents(name, model, subAgents);
  checkSources(name, toolSources);
  const schemas = Object.entries(tools).map(([key, { input }]) => [key, toJsonSchema(input, key) as Json]);
  return {
    ...options,
    model,
    body,
    tools,
    schemas: Object.fromEntries(schemas),
    answerTimeoutSeconds: answerTimeoutMs === undefined ? null : toSeconds(answerTimeoutMs),
  };
}

function isTextOrFunction(value: unknown): boolean {
  return typeof value === "string" || typeof value === "function";
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
  throw badAgent(what);
}
