/**
 * `scriptedModel` creates a model that plays a script, for tests, demos and benchmarks.
 * Invariant: the conversation alone determines the answer, not a counter, so another process continues correctly after
 * a crash. Only failures with `times` are counted, per model object. It uses no network and no randomness. Like a
 * provider, it rejects the call for a failure before the first part, streams later failures, and ends when it is
 * aborted.
 */
import { type LanguageModelV4StreamPart, UnsupportedFunctionalityError } from "@ai-sdk/provider";
import { createProviderStreamError } from "@ai-sdk/provider-utils";
import { untilAborted } from "../util/concurrency.ts";
import { defined } from "../util/defined.ts";
import { sleep as systemSleep } from "../util/sleep.ts";
import {
  type FinishReason,
  isOfResults,
  type Model,
  type ModelTool,
  type ModelUsage,
  type Prompt,
} from "./model.ts";
import type { ScriptedReply, ScriptFinishOptions, ScriptPart } from "./script-parts.ts";

/** The input of a script function. */
export interface ScriptCall {
  /** Number of answers since the last user message; 0 for the first answer. */
  readonly step: number;
  /** Number of user messages; 1 in the first turn. */
  readonly turn: number;
  /** The text of the last user message. */
  readonly text: string;
  readonly prompt: Prompt;
  readonly tools: readonly ModelTool[];
}

/** The answers of a turn in order, the same for every turn, or a function that returns the answer to a call. */
export type Script = readonly ScriptedReply[] | ((call: ScriptCall) => ScriptedReply);

export interface ScriptedOptions {
  readonly modelId?: string;
  /** Waits for a time. Must reject when the signal is aborted. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

type CallOptions = Parameters<Model["doStream"]>[0];
type Part = LanguageModelV4StreamPart;

/** Parts per pull. Larger batches need fewer promises; a limit keeps long answers out of memory. */
const AT_ONCE = 64;

const defaultSleep = (ms: number, signal: AbortSignal) => systemSleep(ms, { signal });

export function scriptedModel(script: Script, options: ScriptedOptions = {}): Model {
  const { modelId = "scripted", sleep = defaultSleep } = options;
  /** Number of times each limited failure was played. */
  const happened = new Map<string, number>();

  function isDue(key: string, times: number): boolean {
    if (times === Infinity) return true;
    const count = happened.get(key) ?? 0;
    if (count < times) happened.set(key, count + 1);
    return count < times;
  }

  async function doStream(request: CallOptions): Promise<{ stream: ReadableStream<Part> }> {
    request.abortSignal?.throwIfAborted();
    const call = readCall(request);
    const place = `${call.turn}/${call.step}`;
    const actions = playReply(answerOf(script, call), {
      callId: (index) => `call_${call.turn}_${call.step}_${index}`,
      isDue: (index, times) => isDue(`${place}/${index}/${call.text}`, times),
      inputTokens: () => tokensOf(call.prompt),
    });
    const stopped = new AbortController();
    const signal = request.abortSignal
      ? AbortSignal.any([request.abortSignal, stopped.signal])
      : stopped.signal;

    // Play delays before the first part here, so that a failure in that phase rejects the call, like a provider's.
    let next = actions.next();
    while (!next.done && next.value.type === "delay") {
      await sleep(next.value.ms, signal);
      next = actions.next();
    }
    if (!next.done && next.value.type === "reject") throw next.value.error;
    return { stream: streamOf(actions, next, { signal, stopped, sleep }) };
  }

  return {
    specificationVersion: "v4",
    provider: "scripted",
    modelId,
    supportedUrls: {},
    doStream,
    doGenerate: async () => {
      throw new UnsupportedFunctionalityError({ functionality: "calls without streaming" });
    },
  };
}

interface Playing {
  readonly signal: AbortSignal;
  readonly stopped: AbortController;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

function streamOf(
  actions: Iterator<PlaybackStep, void>,
  first: IteratorResult<PlaybackStep, void>,
  { signal, stopped, sleep }: Playing,
): ReadableStream<Part> {
  let next = first;
  const source = {
    async pull(controller: ReadableStreamDefaultController<Part>) {
      for (let count = 0; count < AT_ONCE;) {
        signal.throwIfAborted();
        if (next.done) return controller.close();
        const action = next.value;
        if (action.type === "part") {
          controller.enqueue(action.part);
          count++;
        } else if (action.type === "delay") {
          await sleep(action.ms, signal);
        } else if (action.type === "hang") {
          await untilAborted(signal);
        } else {
          // An error discards the unread parts of a stream, so throw it at the next pull.
          if (count > 0) return;
          throw action.error;
        }
        next = actions.next();
      }
    },
    cancel: () => stopped.abort(),
  };
  // Without a buffer, a pull means that all earlier parts have been read.
  return new ReadableStream(source, { highWaterMark: 0 });
}

function answerOf(script: Script, call: ScriptCall): ScriptedReply {
  const answer = typeof script === "function" ? script(call) : script[call.step];
  if (answer === undefined)
    throw new Error(
      `The script has no answer ${call.step + 1}. Add one, or end the turn with an answer that calls no tool.`,
    );
  return answer;
}

function readCall({ prompt, tools = [] }: CallOptions): ScriptCall {
  let step = 0;
  let turn = 0;
  let text = "";
  for (const message of prompt) {
    if (message.role === "assistant") step++;
    if (message.role !== "user" || isOfResults(message)) continue;
    turn++;
    step = 0;
    text = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
  }
  return { step, turn, text, prompt, tools: tools.filter((tool) => tool.type === "function") };
}

/** Approximates the count of providers: four characters per token. */
function tokensOf(prompt: Prompt): number {
  let length = 0;
  for (const { content } of prompt) {
    if (typeof content === "string") length += content.length;
    else for (const part of content) length += "text" in part ? part.text.length : 40;
  }
  return Math.ceil(length / 4);
}

type PlaybackStep =
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

/**
 * Converts one scripted answer into the steps of a model stream, as a real provider has them: `stream-start` first,
 * matching starts and ends, `finish` last. An error before the first part rejects the call; a later one is a part of the
 * stream. Nothing follows an error, a disconnect or `finish`.
 */
function* playReply(answer: ScriptedReply, place: Place): Generator<PlaybackStep, void> {
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
