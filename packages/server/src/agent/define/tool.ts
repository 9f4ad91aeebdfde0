/**
 * `tool` validates the options of a tool and fills in their defaults. It does not run tools. This file also defines
 * what a tool gets (`ToolContext`) and returns (`ToolOutput`).
 *
 * Invariant: a tool has either `input` and `run`, or `inputSchema` and `execute`, the names of the AI SDK. A tool is not idempotent and needs no approval by default. Users see the message of a `ToolError`, but of
 * no other error of a tool, because that may contain internal data. `ToolContext` exposes no store and no log.
 */
import { z } from "zod";
import { amount, func, parseOptions } from "../../util/parse-options.ts";
import { type Approval, approvalOptions } from "./approval.ts";
import type { FormSpec } from "./form.ts";
import type { ReportUsage } from "./report-usage.ts";
import { badAgent } from "../errors.ts";
import type { PromptMessage } from "../../models/model.ts";
import { type AiSdkSchema, toStandardSchema } from "../../models/tool-schema.ts";
import type { Artifact, Json, WithToolTypes } from "@turnstream/protocol";
import { truncateText, MAX_LABEL } from "@turnstream/protocol/writer";
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";

export interface ToolErrorOptions {
  /** The text for the model. Default: the message for the user. */
  readonly modelMessage?: string;
  readonly cause?: unknown;
}

/**
 * An error with a message for the user. For any other error the model gets the message, but users only see that the
 * tool failed, because the message may contain internal data.
 */
export class ToolError extends Error {
  readonly userMessage: string;

  constructor(userMessage: string, { modelMessage = userMessage, cause }: ToolErrorOptions = {}) {
    super(modelMessage, cause === undefined ? {} : { cause });
    this.name = "ToolError";
    this.userMessage = userMessage;
  }
}

/** A picture as bytes or base64. If it is too large for an event, it is stored as a blob. */
export interface ImageInput {
  readonly data: Uint8Array | string;
  /** For example `image/png`. */
  readonly mediaType: string;
}

/** A file as bytes or base64. It is stored as a blob, and users get a URL. */
export interface FileInput {
  readonly name: string;
  readonly data: Uint8Array | string;
  /** For example `application/pdf`. */
  readonly mediaType: string;
}

/** An artifact of a tool. A file can be given as content instead of a URL. */
export type ArtifactInput =
  | Artifact
  | { readonly type: "file"; readonly title?: string; readonly data: FileInput };

/** A piece of a result that users see. */
export type ResultBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly url: string }
  | ({ readonly type: "image" } & ImageInput);

/** An item that the answer can cite. It gets a number, and the model cites it as `[^1]`. */
export interface CitableItem {
  /** For the model. */
  readonly content: Json;
  readonly title?: string;
  /** Only web URLs are shown. */
  readonly url?: string;
  /** For users. Default: the start of `content`. */
  readonly blocks?: readonly ResultBlock[];
}

/** A result with two views: the model reads `content`, users see `blocks`. */
export interface ToolOutput {
  readonly content: Json;
  readonly blocks?: readonly ResultBlock[];
  /** The items found, so that the answer can cite them. The model reads them before `content`. */
  readonly references?: readonly CitableItem[];
  /** A short text for users. Default: the start of `content`. */
  readonly preview?: string;
  readonly artifact?: ArtifactInput;
  /** The data for clients, if the tool has the option `output`. Default: `content`. */
  readonly output?: unknown;
  /** How many items were found. */
  readonly resultCount?: number;
}

export interface RequestFormOptions {
  /**
   * How long the form waits for the user, in milliseconds (a multiple of 1,000). Then it expires, and the next turn
   * continues without it. Default: `answerTimeoutMs` of the agent.
   */
  readonly timeoutMs?: number;
}

export interface ToolContext {
  /** Aborted when the user stops the turn, the tool times out, or this worker must stop. */
  readonly signal: AbortSignal;
  /** The same for every run of this call in any process. Pass it to services that must not act twice. */
  readonly idempotencyKey: string;
  /** Shows progress to the user. The model doesn't read it. */
  progress(text: string): void;
  /** Shows a picture, by URL or as content. Each one replaces the previous one, and the last one stays. */
  image(picture: string | ImageInput): void;
  /**
   * Sets the artifact that is shown when the tool is done. The last call wins.
   * @throws if the artifact can't be shown
   */
  artifact(artifact: ArtifactInput): void;
  /**
   * Requests a form and ends the tool. The turn ends once all other calls of this step are done. In the next turn, the
   * model reads the submitted values as the result of this call. It throws; don't catch the error.
   */
  requestForm(form: FormSpec, options?: RequestFormOptions): never;
  /**
   * Counts tokens of a model that the tool called itself. They are part of the result and of the turn's usage, and
   * count towards the limits of the agent. Several reports add up.
   * @throws if a number is not valid
   */
  readonly reportUsage: ReportUsage;
  readonly tenant: string;
  readonly session: string;
  readonly turn: string;
  readonly call: string;
  /**
   * The messages that the model read before it called the tool, without the instructions. Images are references
   * without their bytes.
   */
  readonly messages: readonly PromptMessage[];
  /** The owner of the session. */
  readonly user: string;
  /** The language of the user, as a BCP 47 tag. Default: `defaultLocale` of the worker. */
  readonly locale: string;
}

/** What the label of a call can depend on besides its input. */
type LabelContext = Pick<ToolContext, "locale">;

/** How a tool's call and result are displayed. */
const toolDisplay = z.strictObject({
  /** Shows the call to users; false also hides its result. @default true */
  call: z.boolean().default(true),
  /** Shows the content of the result; false shows only whether the call succeeded. @default true */
  result: z.boolean().default(true),
  /**
   * Shows the call on its own, outside of groups. If a step also has other calls, those of the same kind as its first
   * call run first, and the others after their results.
   * @default false
   */
  standalone: z.boolean().default(false),
});

type ToolDisplay = Readonly<z.output<typeof toolDisplay>>;

export interface ToolOptions<
  Schema extends StandardSchemaV1 = typeof NOTHING,
  Output extends StandardSchemaV1 = StandardSchemaV1,
> {
  /** For the model: what the tool does and when to use it. */
  readonly description?: string;
  /**
   * For users: what a call does. Default: made from the tool's name. With a function the arguments don't stream,
   * because the label is known only once the input is complete.
   */
  readonly label?: string | ((input: StandardSchemaV1.InferInput<Schema>, context: LabelContext) => string);
  /** A Standard Schema that converts to JSON Schema, such as zod's. Default: no input. */
  readonly input?: Schema;
  /**
   * A Standard Schema of the data that clients get of a result, for their own components. They get what the schema
   * returns, at most 16,000 bytes of JSON. Data that doesn't match, or that is longer, is left out and reported to
   * `onError`. Default: clients get no data.
   */
  readonly output?: Output;
  /**
   * Returns a `ToolOutput`, or any other value. The value is converted to JSON and given to both the model and the
   * user.
   */
  run(input: StandardSchemaV1.InferOutput<Schema>, context: ToolContext): unknown;
  /**
   * True if running a call twice has the effect of running it once. Another worker then runs it again after a crash.
   * Otherwise an interrupted call ends as an error, because its outcome is unknown. A function decides per input.
   * @default false
   */
  readonly idempotent?: boolean | ((input: StandardSchemaV1.InferOutput<Schema>) => boolean);
  /** Requires the user's approval before a call runs. A function decides per input. @default false */
  readonly approval?: Approval<StandardSchemaV1.InferOutput<Schema>>;
  readonly timeoutMs?: number;
  readonly display?: Partial<ToolDisplay>;
}

/** What `execute` gets: the context of `run`, and its fields under the names of the AI SDK. */
export interface ExecuteContext extends ToolContext {
  readonly toolCallId: string;
  readonly abortSignal: AbortSignal;
}

/** The options of a tool with the names of the AI SDK. */
export interface ExecuteToolOptions<Input, Output extends StandardSchemaV1 = StandardSchemaV1> extends Omit<
  ToolOptions<StandardSchemaV1<Input>>,
  "input" | "run" | "output"
> {
  /** A Standard Schema such as zod's, or the result of the AI SDK's `jsonSchema()`. Default: no input. */
  readonly inputSchema?: AiSdkSchema<Input>;
  /** As `output`. */
  readonly outputSchema?: Output;
  execute(input: Input, context: ExecuteContext): unknown;
}

type AllOptions = ToolOptions<StandardSchemaV1> & ExecuteToolOptions<unknown>;

const isSchema = (value: unknown): boolean => typeof value === "object" || typeof value === "function";
const anySchema = z.custom<never>(isSchema, "a schema").optional();

/** Either `run` or `execute` is required. Null is accepted where a `Tool` has it, so that a tool can be copied. */
const schema = z.strictObject({
  run: func<NonNullable<AllOptions["run"]>>().optional(),
  input: anySchema,
  execute: func<NonNullable<AllOptions["execute"]>>().optional(),
  inputSchema: anySchema,
  output: anySchema.nullable(),
  outputSchema: anySchema,
  description: z.string().default(""),
  label: z.union([z.string(), func<Extract<Tool["label"], (...args: never[]) => unknown>>()]).default(""),
  idempotent: z.union([z.boolean(), func<(input: unknown) => boolean>()]).default(false),
  approval: z
    .union([z.boolean(), func<Extract<Approval<unknown>, (...args: never[]) => unknown>>(), approvalOptions])
    .default(false),
  timeoutMs: amount(1).nullable().default(null),
  display: toolDisplay.prefault({}),
} satisfies Record<keyof AllOptions, z.ZodType>);

const EMPTY = { type: "object", properties: {}, additionalProperties: false } as const;

/** The input schema of a tool without input. */
const NOTHING: StandardJSONSchemaV1<object> & StandardSchemaV1<object> = {
  "~standard": {
    version: 1,
    vendor: "turnstream",
    validate: () => ({ value: {} }),
    jsonSchema: { input: () => EMPTY, output: () => EMPTY },
  },
};

/**
 * A tool as the runtime uses it. `tool()` checks the types; here they are erased. A page gets `Input` and `Output` with
 * `ToolsOf`.
 */
export interface Tool<Input = unknown, Output = unknown> extends WithToolTypes<Input, Output> {
  readonly description: string;
  readonly label: string | ((input: Json, context: LabelContext) => string);
  readonly input: StandardSchemaV1;
  /** Null if clients get no structured output. */
  readonly output: StandardSchemaV1 | null;
  run(input: unknown, context: ToolContext): unknown;
  idempotent(input: unknown): boolean;
  readonly approval: Approval<unknown>;
  readonly timeoutMs: number | null;
  readonly display: ToolDisplay;
}

export function tool<
  Schema extends StandardSchemaV1 = typeof NOTHING,
  Output extends StandardSchemaV1 = StandardSchemaV1,
>(
  options: ToolOptions<Schema, Output>,
): Tool<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Output>>;
export function tool<Input = object, Output extends StandardSchemaV1 = StandardSchemaV1>(
  options: ExecuteToolOptions<Input, Output>,
): Tool<Input, StandardSchemaV1.InferOutput<Output>>;
export function tool(options: Partial<AllOptions>): Tool {
  const { description, label, idempotent, approval, timeoutMs, display } = parseOptions(
    schema,
    options,
    "a tool",
    badAgent,
  );
  return {
    description,
    label:
      typeof label === "string" ? truncateText(label, MAX_LABEL) : (input, context) => label(input, context),
    ...resolveRun(options),
    idempotent: (input) => (typeof idempotent === "function" ? idempotent(input) : idempotent),
    approval,
    timeoutMs,
    display,
  };
}

/** Reads one of the two pairs of names. */
function resolveRun(options: Partial<AllOptions>): Pick<Tool, "input" | "output" | "run"> {
  const { input, inputSchema, output, outputSchema } = options;
  const hasRun = options.run !== undefined;
  const hasExecute = options.execute !== undefined;
  const isOurs = hasRun || input !== undefined || output !== undefined;
  if (isOurs && (hasExecute || inputSchema !== undefined || outputSchema !== undefined))
    throw badAgent(
      "a tool must have `input` and `run`, or `inputSchema` and `execute`, not names of both pairs",
    );
  if (hasRun)
    return {
      input: input ?? NOTHING,
      output: output ?? null,
      run: (value, context) => options.run?.(value, context),
    };
  if (!hasExecute)
    throw badAgent(`\`${inputSchema === undefined ? "run" : "execute"}\` of a tool is missing`);
  return {
    input: inputSchema === undefined ? NOTHING : toStandardSchema(inputSchema),
    output: outputSchema ?? null,
    run: (value, context) =>
      options.execute?.(value, { ...context, toolCallId: context.call, abortSignal: context.signal }),
  };
}
