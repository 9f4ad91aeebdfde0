/**
 * What a developer says about a tool, and what a tool is given when it runs. Types and one function; never runs one.
 */
import { type Approval, APPROVAL_NAMES, checkApproval } from "./approval.ts";
import type { FormSpec } from "./form.ts";
import { assertKnownOptions, type OptionKeys } from "./check-options.ts";
import type { Artifact, Json } from "@turnstream/protocol";
import { truncateText, MAX_LABEL } from "@turnstream/protocol/writer";
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";

export interface ToolErrorOptions {
  /** What the model reads. Default: the message for the user. */
  readonly modelMessage?: string;
  readonly cause?: unknown;
}

/**
 * A tool that fails throws anything: the model reads its message, and people are only told that it failed, for a message
 * may hold what they must not see. With this error it says what people read.
 */
export class ToolError extends Error {
  readonly userMessage: string;

  constructor(userMessage: string, { modelMessage = userMessage, cause }: ToolErrorOptions = {}) {
    super(modelMessage, cause === undefined ? {} : { cause });
    this.name = "ToolError";
    this.userMessage = userMessage;
  }
}

/** A picture in itself; base64 when it is a text. One that is too large for an event is kept beside the log. */
export interface ImageInput {
  readonly data: Uint8Array | string;
  /** `image/png` and the like. */
  readonly mediaType: string;
}

/** A file in itself; base64 when it is a text. It is kept beside the log, and people get an address of it. */
export interface FileInput {
  readonly name: string;
  readonly data: Uint8Array | string;
  /** `application/pdf` and the like. */
  readonly mediaType: string;
}

/** An artifact as a tool gives it: a file may come as it is, instead of its address. */
export type ArtifactInput =
  | Artifact
  | { readonly type: "file"; readonly title?: string; readonly data: FileInput };

/** What people see of a result, piece by piece. */
export type ResultBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly url: string }
  | ({ readonly type: "image" } & ImageInput);

/** Something that the answer can cite. It gets a number, by which the model cites it: `[^1]`. */
export interface CitableItem {
  /** For the model. */
  readonly content: Json;
  readonly title?: string;
  /** Where it is; only web addresses are told. */
  readonly url?: string;
  /** For people; the beginning of `content` when absent. */
  readonly blocks?: readonly ResultBlock[];
}

/** A result with two sides: the model reads `content`, people see `blocks`. */
export interface ToolOutput {
  readonly content: Json;
  readonly blocks?: readonly ResultBlock[];
  /** What was found, item by item, so that the answer can cite it. The model reads them before `content`. */
  readonly references?: readonly CitableItem[];
  /** The result in short, for people; the beginning of `content` when absent. */
  readonly preview?: string;
  readonly artifact?: ArtifactInput;
  /** How many things were found. */
  readonly resultCount?: number;
}

export interface ToolContext {
  /** Aborted when the person stops the turn, the tool's time is up, or this worker must not go on. */
  readonly signal: AbortSignal;
  /** The same for every run of this call, in whichever process: give it to whatever must not happen twice. */
  readonly idempotencyKey: string;
  /** Shows people that something happens. Not part of what the model reads. */
  progress(text: string): void;
  /** Shows a picture, by its address or as it is; each replaces the one before, and the last one stays. */
  image(picture: string | ImageInput): void;
  /** Shows something beside the text when the tool is done; the last one counts. Throws for one that is none. */
  artifact(artifact: ArtifactInput): void;
  /**
   * Asks the person to fill in a form, and ends the tool and, once everything else of this step is done, the turn. What
   * they fill in becomes the result of this call. Throws; don't catch it.
   */
  requestForm(form: FormSpec): never;
  readonly tenant: string;
  readonly session: string;
  readonly turn: string;
  readonly call: string;
  /** Whose session it is. */
  readonly user: string;
}

/** How a tool's call and result are told. */
export interface ToolDisplay {
  /** Whether people see the call; false also hides its result. */
  readonly call: boolean;
  readonly result: boolean;
  /** Shown as content of its own, outside groups. */
  readonly standalone: boolean;
}

export interface ToolOptions<Schema extends StandardSchemaV1 = typeof NOTHING> {
  /** For the model: what it does, and when to use it. */
  readonly description?: string;
  /**
   * For people: what a call does. Words are made from the tool's name when absent. A label made from the input can only
   * be shown once the input is complete, so the arguments of such a call don't stream.
   */
  readonly label?: string | ((input: StandardSchemaV1.InferInput<Schema>) => string);
  /** Any Standard Schema that can say itself as JSON Schema, such as zod's. Nothing when absent. */
  readonly input?: Schema;
  /** Gives a ToolOutput, or whatever JSON makes of what it returns: that is then for the model and for people. */
  run(input: StandardSchemaV1.InferOutput<Schema>, context: ToolContext): unknown;
  /**
   * Whether running a call twice has the effect of running it once, so that another worker may run it again after a crash.
   * Otherwise an interrupted call ends as an error, because its outcome is unknown. A function decides for each input.
   * @default false
   */
  readonly idempotent?: boolean | ((input: StandardSchemaV1.InferOutput<Schema>) => boolean);
  /** Whether a person has to approve a call before it runs; a function decides for each input. */
  readonly approval?: Approval<StandardSchemaV1.InferOutput<Schema>>;
  readonly timeoutMs?: number;
  readonly display?: Partial<ToolDisplay>;
}

const NAMES: OptionKeys<ToolOptions> = {
  run: true,
  input: false,
  description: false,
  label: false,
  idempotent: false,
  approval: false,
  timeoutMs: false,
  display: false,
};
const DISPLAY_NAMES: OptionKeys<Partial<ToolDisplay>> = { call: false, result: false, standalone: false };

const EMPTY = { type: "object", properties: {}, additionalProperties: false } as const;

/** The input of a tool that takes none. */
const NOTHING: StandardJSONSchemaV1<object> & StandardSchemaV1<object> = {
  "~standard": {
    version: 1,
    vendor: "turnstream",
    validate: () => ({ value: {} }),
    jsonSchema: { input: () => EMPTY, output: () => EMPTY },
  },
};

/** A tool as the runtime keeps it: its types are checked where it is written, and forgotten here. */
export interface Tool {
  readonly description: string;
  readonly label: string | ((input: Json) => string);
  readonly input: StandardSchemaV1;
  run(input: unknown, context: ToolContext): unknown;
  idempotent(input: unknown): boolean;
  readonly approval: Approval<unknown>;
  readonly timeoutMs: number | null;
  readonly display: ToolDisplay;
}

export function tool<Schema extends StandardSchemaV1 = typeof NOTHING>(options: ToolOptions<Schema>): Tool {
  assertKnownOptions(options, NAMES, "a tool");
  const { label = "", idempotent = false, approval = false, display = {} } = options;
  assertKnownOptions(display, DISPLAY_NAMES, "`display` of a tool");
  if (typeof approval === "object") {
    assertKnownOptions(approval, APPROVAL_NAMES, "`approval` of a tool");
    checkApproval(approval);
  }
  return {
    description: options.description ?? "",
    label: typeof label === "string" ? truncateText(label, MAX_LABEL) : (input) => label(input),
    input: options.input ?? NOTHING,
    run: (input, context) => options.run(input, context),
    idempotent: (input) => (typeof idempotent === "function" ? idempotent(input) : idempotent),
    approval,
    timeoutMs: options.timeoutMs ?? null,
    display: { call: true, result: true, standalone: false, ...display },
  };
}
