/**
 * The words in which a script for a model is written: what it thinks, says and calls, and how it fails. Plain data,
 * made once and played often. Never plays anything; see scripted.ts.
 */
import { APICallError } from "@ai-sdk/provider";

import type { FinishReason } from "./model.ts";

export interface StreamPace {
  /** How many characters come at once. */
  readonly chunk?: number;
  /** How long to wait before each piece. */
  readonly paceMs?: number;
}

/** `times`: only that often in this process, then the part is passed over. */
export interface Repeat {
  readonly times?: number;
}

export interface Failure {
  readonly status: number;
  readonly retryAfterMs?: number;
  /** What the provider would say. */
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

/** One answer of the model. How it finishes follows from it, unless it says so itself. */
export type ScriptedReply = readonly ScriptPart[];

const CHUNK = 4;

/** @param options `signature`: what a provider wants back with the thought */
function reasoning(thought: string, options: StreamPace & { readonly signature?: string } = {}): ScriptPart {
  const { chunk = CHUNK, paceMs = 0, signature = null } = options;
  return { kind: "reasoning", pieces: cut(thought, chunk), paceMs, signature };
}

function text(content: string, { chunk = CHUNK, paceMs = 0 }: StreamPace = {}): ScriptPart {
  return { kind: "text", pieces: cut(content, chunk), paceMs, signature: null };
}

export interface CallOptions {
  /** Default: from the place in the conversation, so that another process gives the same one. */
  readonly id?: string;
  /** In how many pieces the arguments come. */
  readonly chunks?: number;
  readonly paceMs?: number;
  /** The text of the arguments as it is, for a model that writes bad JSON. */
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

/** Before anything else in an answer the call is rejected; later the stream has an error in it. */
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

/** The connection breaks here. */
function disconnect({ times = Infinity }: Repeat = {}): ScriptPart {
  return { kind: "disconnect", times };
}

/** Nothing more comes from here on. */
function hang({ times = Infinity }: Repeat = {}): ScriptPart {
  return { kind: "hang", times };
}

/** Says how the answer finishes and what it used up; anything after it is not played. */
function finish(ending: ScriptFinishOptions): ScriptPart {
  return { kind: "finish", ending };
}

/** The parts of a script. Each function returns plain data; `scriptedModel` plays it. */
export const script = { text, reasoning, toolCall, delay, finish, error, disconnect, hang };

/** Never cuts a character in two, as a model never does. */
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
