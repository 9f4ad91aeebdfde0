/**
 * `script` creates the parts of a scripted answer: reasoning, text, tool calls, delays and failures. `scriptedModel`
 * plays them.
 * Invariant: parts are plain data without state and can be played repeatedly. The pieces of a text joined are the
 * text, and surrogate pairs are never split, because models don't split them either. The functions are public API.
 */
import { APICallError } from "@ai-sdk/provider";

import type { FinishReason } from "./model.ts";

export interface StreamPace {
  /** Characters per delta. @default 4 */
  readonly chunk?: number;
  /** Delay before each delta. @default 0 */
  readonly paceMs?: number;
}

/** `times`: how often the part is played in this process. After that it is skipped. */
export interface Repeat {
  readonly times?: number;
}

export interface Failure {
  readonly status: number;
  readonly retryAfterMs?: number;
  /** The provider's error message. */
  readonly message?: string;
}

export interface ScriptFinishOptions {
  readonly reason?: FinishReason;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

export type ScriptPart =
  | {
      readonly kind: "reasoning" | "text";
      readonly pieces: readonly string[];
      readonly paceMs: number;
      readonly signature: string | null;
    }
  | {
      readonly kind: "toolCall";
      readonly tool: string;
      readonly id: string | null;
      readonly pieces: readonly string[];
      readonly paceMs: number;
    }
  | { readonly kind: "delay"; readonly ms: number }
  | { readonly kind: "error"; readonly error: APICallError; readonly times: number }
  | { readonly kind: "disconnect" | "hang"; readonly times: number }
  | { readonly kind: "finish"; readonly ending: ScriptFinishOptions };

/** One answer of the model. Without a `finish` part, the finish reason follows from the other parts. */
export type ScriptedReply = readonly ScriptPart[];

const CHUNK = 4;

/** @param options `signature` is the value that a provider expects back with the reasoning */
function reasoning(thought: string, options: StreamPace & { readonly signature?: string } = {}): ScriptPart {
  const { chunk = CHUNK, paceMs = 0, signature = null } = options;
  return { kind: "reasoning", pieces: cut(thought, chunk), paceMs, signature };
}

function text(content: string, { chunk = CHUNK, paceMs = 0 }: StreamPace = {}): ScriptPart {
  return { kind: "text", pieces: cut(content, chunk), paceMs, signature: null };
}

export interface CallOptions {
  /** @default derived from the position in the conversation, so that every process creates the same id */
  readonly id?: string;
  /** Number of deltas for the arguments. @default 1 */
  readonly chunks?: number;
  readonly paceMs?: number;
  /** The arguments as literal text, to simulate invalid JSON. @default the input as JSON */
  readonly raw?: string;
}

function toolCall(tool: string, input: unknown = {}, options: CallOptions = {}): ScriptPart {
  const { id = null, chunks = 1, paceMs = 0, raw = JSON.stringify(input) } = options;
  return {
    kind: "toolCall",
    tool,
    id,
    pieces: cut(raw, Math.ceil(raw.length / Math.max(1, chunks))),
    paceMs,
  };
}

function delay(ms: number): ScriptPart {
  return { kind: "delay", ms };
}

/** As the first part it rejects the call. Later it adds an error part to the stream. */
function error({ status, retryAfterMs, message }: Failure, { times = Infinity }: Repeat = {}): ScriptPart {
  const failure = new APICallError({
    message: message ?? `scripted failure ${status}`,
    url: "scripted:",
    requestBodyValues: {},
    statusCode: status,
    responseHeaders: retryAfterMs === undefined ? {} : { "retry-after-ms": String(retryAfterMs) },
  });
  return { kind: "error", error: failure, times };
}

/** Breaks the connection. */
function disconnect({ times = Infinity }: Repeat = {}): ScriptPart {
  return { kind: "disconnect", times };
}

/** Sends nothing more until the call is aborted. */
function hang({ times = Infinity }: Repeat = {}): ScriptPart {
  return { kind: "hang", times };
}

/** Sets finish reason and token usage. Parts after it are not played. */
function finish(ending: ScriptFinishOptions): ScriptPart {
  return { kind: "finish", ending };
}

/** Functions that create the parts of a script. They return plain data; `scriptedModel` plays it. */
export const script = { text, reasoning, toolCall, delay, finish, error, disconnect, hang };

/** Does not split surrogate pairs, because models don't either. */
function cut(content: string, size: number): readonly string[] {
  const step = Math.max(1, Math.floor(size));
  const pieces: string[] = [];
  for (let from = 0; from < content.length;) {
    let to = from + step;
    const last = content.charCodeAt(to - 1);
    if (last >= 0xd800 && last <= 0xdbff) to++;
    pieces.push(content.slice(from, to));
    from = to;
  }
  return pieces;
}
