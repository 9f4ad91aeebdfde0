/**
 * `trimToBudget` shortens results of older steps when the prompt of a long run exceeds its token budget. Pure.
 *
 * Invariant: the same steps give the same prompt, so that an attempt on another worker sends what was sent before. The
 * two newest steps and the messages before the run stay unchanged, so the prompt can still exceed the budget.
 */
import { truncateText } from "@turnstream/protocol/writer";
import type { Prompt, PromptMessage, PromptToolOutput } from "../../models/model.ts";
import { countImages, withoutImages } from "./images.ts";
import { stringifyContent } from "../run/tool-result.ts";

const CHARS_PER_TOKEN = 4;
/** About what providers count for an image of a million pixels. */
const IMAGE_TOKENS = 1_500;
/** How much of a result stays, and how many of the newest steps are never shortened. */
const SHORT_CHARS = 1_000;
const NEWEST = 2;
/** Shorten this many steps at once, because each change invalidates the provider's prompt cache. */
const STRIDE = 8;

/** Estimates tokens as a quarter of the characters. That is precise enough to detect a prompt that is too long. */
export function estimateTokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / CHARS_PER_TOKEN);
}

/** Like `estimateTokens`, for a prompt whose images are not loaded yet. */
export function estimatePrompt(prompt: Prompt): number {
  return estimateTokens(withoutImages(prompt)) + countImages(prompt) * IMAGE_TOKENS;
}

/**
 * @param first index of the run's first own message
 * @param tokens budget of the prompt, without the tool definitions
 */
export function trimToBudget(prompt: Prompt, first: number, tokens: number): Prompt {
  let over = estimatePrompt(prompt) - tokens;
  if (over <= 0) return prompt;
  const results = prompt.flatMap(({ role }, at) => (role === "tool" && at >= first ? [at] : []));
  const older = results.slice(0, -NEWEST);
  const short = new Map<number, PromptMessage>();
  for (const [n, at] of older.entries()) {
    if (over <= 0 && n % STRIDE === 0) break;
    const message = prompt[at];
    if (message === undefined) continue;
    const shortened = shorten(message);
    over -= estimateTokens(message) - estimateTokens(shortened);
    short.set(at, shortened);
  }
  return prompt.map((message, at) => short.get(at) ?? message);
}

function shorten(message: PromptMessage): PromptMessage {
  if (message.role !== "tool") return message;
  const content = message.content.map((part) =>
    part.type === "tool-result" ? { ...part, output: shortOutput(part.output) } : part,
  );
  return { ...message, content };
}

function shortOutput(output: PromptToolOutput): PromptToolOutput {
  if (output.type !== "text" && output.type !== "error-text" && output.type !== "json") return output;
  const text = stringifyContent(output.value as never);
  if (text.length <= SHORT_CHARS) return output;
  const value = `${truncateText(text, SHORT_CHARS)} [cut, ${text.length} characters]`;
  return { type: output.type === "error-text" ? "error-text" : "text", value };
}
