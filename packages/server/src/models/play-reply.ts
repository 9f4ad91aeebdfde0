/**
 * `playReply` converts one scripted answer into the steps of a model stream. Pure, except for its callback `isDue`:
 * `scriptedModel` executes the steps.
 * Invariant: the steps are those of a real provider: `stream-start` first, matching starts and ends, `finish` last. An
 * error before the first part rejects the call; a later one is a part of the stream. Nothing follows an error, a
 * disconnect or `finish`.
 */
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { createProviderStreamError } from "@ai-sdk/provider-utils";

import type { FinishReason, ModelUsage } from "./model.ts";
import type { ScriptedReply, ScriptFinishOptions, ScriptPart } from "./script-parts.ts";
import { defined } from "../util/defined.ts";

export type PlaybackStep =
  | { readonly type: "part"; readonly part: LanguageModelV4StreamPart }
  | { readonly type: "delay"; readonly ms: number }
  | { readonly type: "hang" }
  /** Rejects the call. Occurs only before the first part. */
  | { readonly type: "reject"; readonly error: Error }
  /** Breaks the connection. */
  | { readonly type: "break"; readonly error: Error };

interface Place {
  callId(index: number): string;
  isDue(index: number, times: number): boolean;
  inputTokens(): number;
}

export function* playReply(answer: ScriptedReply, place: Place): Generator<PlaybackStep, void> {
  let hasStarted = false;
  let hasCalls = false;
  let ending: ScriptFinishOptions = {};
  const tokens = { text: 0, reasoning: 0 };

  for (const [index, part] of answer.entries()) {
    if ("times" in part && !place.isDue(index, part.times)) continue;
    if (part.kind === "delay") {
      yield { type: "delay", ms: part.ms };
      continue;
    }
    if (part.kind === "error" && !hasStarted) {
      yield { type: "reject", error: part.error };
      return;
    }
    if (!hasStarted) yield { type: "part", part: { type: "stream-start", warnings: [] } };
    hasStarted = true;
    switch (part.kind) {
      case "text":
      case "reasoning":
        yield* playText(part, String(index));
        tokens[part.kind === "text" ? "text" : "reasoning"] += part.pieces.length;
        break;
      case "toolCall":
        hasCalls = true;
        yield* playCall(part, part.id ?? place.callId(index));
        tokens.text += part.pieces.length;
        break;
      case "error": {
        const { message, statusCode, isRetryable } = part.error;
        const error = createProviderStreamError({
          message,
          isRetryable,
          data: {},
          ...defined({ statusCode }),
        });
        yield { type: "part", part: { type: "error", error } };
        return;
      }
      case "disconnect":
        yield { type: "break", error: connectionLost() };
        return;
      case "hang":
        yield { type: "hang" };
        break;
      case "finish":
        ({ ending } = part);
        break;
    }
    if (part.kind === "finish") break;
  }
  if (!hasStarted) yield { type: "part", part: { type: "stream-start", warnings: [] } };
  const unified: FinishReason = ending.reason ?? (hasCalls ? "tool-calls" : "stop");
  const usage = usageFor(ending.inputTokens ?? place.inputTokens(), ending.outputTokens, tokens);
  yield { type: "part", part: { type: "finish", finishReason: { unified, raw: unified }, usage } };
}

type TextPart = Extract<ScriptPart, { kind: "reasoning" | "text" }>;
type CallPart = Extract<ScriptPart, { kind: "toolCall" }>;

function* playText({ kind, pieces, paceMs, signature }: TextPart, id: string): Generator<PlaybackStep, void> {
  const name = kind === "text" ? "text" : "reasoning";
  yield { type: "part", part: { type: `${name}-start`, id } };
  for (const delta of pieces) {
    if (paceMs > 0) yield { type: "delay", ms: paceMs };
    yield { type: "part", part: { type: `${name}-delta`, id, delta } };
  }
  const providerMetadata = signature === null ? {} : { providerMetadata: { scripted: { signature } } };
  yield { type: "part", part: { type: `${name}-end`, id, ...providerMetadata } };
}

function* playCall({ tool, pieces, paceMs }: CallPart, id: string): Generator<PlaybackStep, void> {
  yield { type: "part", part: { type: "tool-input-start", id, toolName: tool } };
  for (const delta of pieces) {
    if (paceMs > 0) yield { type: "delay", ms: paceMs };
    yield { type: "part", part: { type: "tool-input-delta", id, delta } };
  }
  yield { type: "part", part: { type: "tool-input-end", id } };
  yield {
    type: "part",
    part: { type: "tool-call", toolCallId: id, toolName: tool, input: pieces.join("") },
  };
}

function usageFor(
  input: number,
  output: number | undefined,
  { text, reasoning }: { readonly text: number; readonly reasoning: number },
): ModelUsage {
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: {
      total: output ?? text + reasoning,
      text: output === undefined ? text : undefined,
      reasoning,
    },
  };
}

/** The error that Node's `fetch` throws when a connection closes. */
function connectionLost(): Error {
  const cause = Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" });
  return new TypeError("terminated", { cause });
}
