/**
 * `scriptedModel` creates a model that plays a script, for tests, demos and benchmarks.
 * Invariant: the conversation alone determines the answer, not a counter, so another process continues correctly after
 * a crash. Only failures with `times` are counted, per model object. It uses no network and no randomness. Like a
 * provider, it rejects the call for a failure before the first part, streams later failures, and ends when it is
 * aborted.
 */

import { type LanguageModelV4StreamPart, UnsupportedFunctionalityError } from "@ai-sdk/provider";

import { untilAborted } from "../util/concurrency.ts";
import { sleep as systemSleep } from "../util/sleep.ts";
import { isOfResults, type Model, type ModelTool, type Prompt } from "./model.ts";
import { type PlaybackStep, playReply } from "./play-reply.ts";
import type { ScriptedReply } from "./script-parts.ts";

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
