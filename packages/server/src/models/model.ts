/**
 * `Model`, `ModelRequest` and `StreamPart` are short names for the types of the AI SDK. `OF_RESULTS` marks messages with
 * images of tool results.
 * Invariant: other files use these names, so that a new version of the SDK's specification changes only this folder.
 * `StreamPart` excludes the parts that `askModel` throws or drops.
 */
import type {
  JSONSchema7,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";

export type Model = LanguageModelV4;
/** A model, or the name of one, such as `anthropic/claude-sonnet-4-6`: see `resolveModel`. */
export type ModelOption = Model | string;
export type Prompt = LanguageModelV4Prompt;
export type PromptMessage = LanguageModelV4Message;
export type AssistantContent = Extract<PromptMessage, { role: "assistant" }>["content"];
export type PromptFile = Extract<
  Extract<PromptMessage, { role: "user" }>["content"][number],
  { type: "file" }
>;
export type PromptToolOutput = LanguageModelV4ToolResultOutput;
export type ModelTool = LanguageModelV4FunctionTool;
export type ModelUsage = LanguageModelV4Usage;
export type FinishReason = LanguageModelV4FinishReason["unified"];
export type JsonSchema = JSONSchema7;

/** A model call without its abort signal and stream options. */
export type ModelRequest = Omit<LanguageModelV4CallOptions, "abortSignal" | "includeRawChunks">;

/** The settings of a call besides prompt and tools, such as temperature and provider options. */
export type ModelSettings = Omit<ModelRequest, "prompt" | "tools">;

type AnyPart = LanguageModelV4StreamPart;
/** A part of a model's answer. Excludes errors, which are thrown, and keep-alive and raw parts, which are dropped. */
export type StreamPart = Exclude<AnyPart, { type: "error" | "raw" | "ping" }>;
export type StreamPartOf<T extends StreamPart["type"]> = Extract<StreamPart, { type: T }>;

/** The provider options of a user message that the worker adds after tool results. Providers ignore them. */
export const OF_RESULTS = { turnstream: { results: true } } as const;

/** Returns true for a message that contains images of tool results and is no message of the user. */
export function isOfResults({ providerOptions }: PromptMessage): boolean {
  return providerOptions?.["turnstream"]?.["results"] === true;
}
