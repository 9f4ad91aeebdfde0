/** Shared helper of the model tests: reads a response to its end. It asserts nothing. */
import { askModel, type AskOptions } from "../../src/models/ask-model.ts";
import type { Model, ModelRequest, Prompt, StreamPart } from "../../src/models/model.ts";

export const hello: Prompt = [{ role: "user", content: [{ type: "text", text: "Hello" }] }];

export interface ReadParts {
  readonly parts: readonly StreamPart[];
  /** The error that was thrown, or null. */
  readonly error: unknown;
}

export async function readParts(
  model: Model,
  request: Partial<ModelRequest> = {},
  options: Partial<AskOptions> = {},
): Promise<ReadParts> {
  const parts: StreamPart[] = [];
  const asked = askModel(
    model,
    { prompt: hello, ...request },
    { signal: new AbortController().signal, ...options },
  );
  try {
    for await (const part of asked) parts.push(part);
  } catch (error) {
    return { parts, error };
  }
  return { parts, error: null };
}

export function textOf(parts: readonly StreamPart[], type: "text" | "reasoning" = "text"): string {
  const wanted = `${type}-delta` as const;
  return parts.map((part) => (part.type === wanted && "delta" in part ? part.delta : "")).join("");
}

export function callsOf(parts: readonly StreamPart[]): { id: string; name: string; input: unknown }[] {
  return parts.flatMap((part) =>
    part.type === "tool-call"
      ? [{ id: part.toolCallId, name: part.toolName, input: JSON.parse(part.input) as unknown }]
      : [],
  );
}
