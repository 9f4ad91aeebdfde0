/** The names that the rest of the server has for the parts of a model, as the AI SDK defines them. Never any code. */
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
export type Prompt = LanguageModelV4Prompt;
export type PromptMessage = LanguageModelV4Message;
export type AssistantContent = Extract<PromptMessage, { role: "assistant" }>["content"];
export type PromptToolOutput = LanguageModelV4ToolResultOutput;
export type ModelTool = LanguageModelV4FunctionTool;
export type ModelUsage = LanguageModelV4Usage;
export type FinishReason = LanguageModelV4FinishReason["unified"];
export type JsonSchema = JSONSchema7;

/** What a model is asked. How the call is stopped and streamed is not part of the question. */
export type ModelRequest = Omit<LanguageModelV4CallOptions, "abortSignal" | "includeRawChunks">;

/** How a model is asked, beside what: temperature, provider options and the like. */
export type ModelSettings = Omit<ModelRequest, "prompt" | "tools">;

type AnyPart = LanguageModelV4StreamPart;
/** What comes from a model. Failures are thrown, and signs of life are not passed on. */
export type StreamPart = Exclude<AnyPart, { type: "error" | "raw" | "ping" }>;
export type StreamPartOf<T extends StreamPart["type"]> = Extract<StreamPart, { type: T }>;
