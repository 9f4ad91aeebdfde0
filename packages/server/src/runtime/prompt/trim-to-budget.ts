/**
 * Keeps the prompt of a run that makes many steps within what its model can read: results of older steps are shortened once
 * it gets too long. Pure, and the same whenever it is asked: a turn that goes on elsewhere sends what was sent before.
 */
import { truncateText } from "@turnstream/protocol/writer";
import type { Prompt, PromptMessage, PromptToolOutput } from "../../models/model.ts";
import { stringifyContent } from "../attempt/tool-result.ts";

const CHARS_PER_TOKEN = 4;
/** How much is left of a result, and how many of the newest steps stay as they are. */
const SHORT_CHARS = 1_000;
const NEWEST = 2;
/** So many steps are shortened at once: each time the provider's cache of the prompt is worth nothing. */
const STRIDE = 8;

/** Nobody tokenises here: a quarter of the characters is near enough to decide when something is too long. */
export function estimateTokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / CHARS_PER_TOKEN);
}

/**
 * @param first where the run's own steps begin
 * @param tokens how long it may be, what the tools take up left out
 */
export function trimToBudget(prompt: Prompt, first: number, tokens: number): Prompt {
  let over = estimateTokens(prompt) - tokens;
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
