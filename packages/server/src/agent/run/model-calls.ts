/**
 * `ModelCalls` keeps the answers of a turn's model calls in memory until their steps are journaled. An attempt that
 * restarts in this process reads an answer again, from its first part, and never asks for it twice.
 *
 * Invariant: a call belongs to the turn and not to an attempt, so it streams on while Redis or PostgreSQL is away. A
 * call that failed is never cached, and a cached one is used only for an equal prompt. Memory is bounded: all cached answers
 * of a process share `ModelCallMemory`, and a call pauses its provider when `MAX_UNREAD` is buffered and not yet read.
 */
import { isDeepStrictEqual } from "node:util";
import type { Prompt, StreamPart } from "../../models/model.ts";

/** The size of all cached answers of a process: characters, and `PART_SIZE` for each part. */
const MAX_CACHED = 64 * 1024 * 1024;
/** The size at which a call stops reading from its provider, until an attempt has read some of it. */
const MAX_UNREAD = 1024 * 1024;
/** About what a part needs in memory besides its text. */
const PART_SIZE = 64;

/** The memory that the cached answers of a process share. */
export class ModelCallMemory {
  readonly #max: number;
  #used = 0;

  constructor(max = MAX_CACHED) {
    this.#max = max;
  }

  get used(): number {
    return this.#used;
  }

  /** Returns false, and reserves nothing, if the memory is full. */
  reserve(size: number): boolean {
    if (this.#used + size > this.#max) return false;
    this.#used += size;
    return true;
  }

  free(size: number): void {
    this.#used -= size;
  }
}

/** Calls the model and passes each part on. `onPart` returns a promise if the provider must wait. */
export type AskModel = (
  signal: AbortSignal,
  onPart: (part: StreamPart) => Promise<void> | undefined,
) => Promise<void>;

export class ModelCalls {
  readonly #memory: ModelCallMemory;
  readonly #calls = new Map<string, ModelCall>();
  readonly #maxUnread: number;
  #closed: { readonly reason: unknown } | null = null;

  constructor(memory: ModelCallMemory, { maxUnread = MAX_UNREAD } = {}) {
    this.#memory = memory;
    this.#maxUnread = maxUnread;
  }

  /** Returns true if the step was asked in this process, and its answer so far can be read from the start. */
  has(key: string): boolean {
    return this.#calls.get(key)?.isCached === true;
  }

  /**
   * Yields the answer of a step: the cached one, or else that of a new call.
   * @param signal stops only the reading; `delete` and `close` stop the call
   */
  read(key: string, prompt: Prompt, signal: AbortSignal, ask: AskModel): AsyncGenerator<StreamPart> {
    if (this.#closed !== null) throw this.#closed.reason;
    const cached = this.#calls.get(key);
    if (cached?.isCached === true && isDeepStrictEqual(cached.prompt, prompt)) return cached.read(signal);
    this.delete(key);
    const call = new ModelCall(prompt, this.#memory, this.#maxUnread);
    this.#calls.set(key, call);
    void this.#run(key, call, ask);
    return call.read(signal);
  }

  async #run(key: string, call: ModelCall, ask: AskModel): Promise<void> {
    const hasAnswer = await call.run(ask);
    if (!hasAnswer && this.#calls.get(key) === call) this.delete(key);
  }

  /** Forgets a call, because its step is journaled or its answer can't be used. Stops it if it still runs. */
  delete(key: string, reason: unknown = new Error("the model call was replaced")): void {
    this.#calls.get(key)?.close(reason);
    this.#calls.delete(key);
  }

  /** Stops and forgets all calls, because the turn has ended or belongs to another worker. */
  close(reason: unknown): void {
    this.#closed ??= { reason };
    for (const key of this.#calls.keys()) this.delete(key, reason);
  }
}

class ModelCall {
  readonly prompt: Prompt;
  readonly #memory: ModelCallMemory;
  readonly #maxUnread: number;
  readonly #call = new AbortController();
  #parts: StreamPart[] = [];
  /** How many parts were dropped in front of `#parts`. */
  #dropped = 0;
  /** True if the answer so far can be read from the start. */
  isCached = true;
  #cachedSize = 0;
  #unread = 0;
  /** How many parts any attempt has read. */
  #read = 0;
  #end: { readonly error?: unknown } | null = null;
  #waiting: (() => void)[] = [];
  #paused: (() => void)[] = [];

  constructor(prompt: Prompt, memory: ModelCallMemory, maxUnread: number) {
    this.prompt = prompt;
    this.#memory = memory;
    this.#maxUnread = maxUnread;
  }

  /** Never throws: readers get the error. @returns true if the answer is complete */
  async run(ask: AskModel): Promise<boolean> {
    try {
      await ask(this.#call.signal, (part) => this.#push(part));
      this.#end = {};
    } catch (error) {
      this.#end = { error };
    }
    this.#wake();
    return !("error" in this.#end);
  }

  async *read(signal: AbortSignal): AsyncGenerator<StreamPart> {
    const onAbort = (): void => this.#wake();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      for (let n = 0; ;) {
        signal.throwIfAborted();
        const part = this.#parts[n - this.#dropped];
        if (part !== undefined) {
          this.#markRead(++n, part);
          yield part;
        } else if (this.#end === null) await new Promise<void>((resolve) => this.#waiting.push(resolve));
        else if ("error" in this.#end) throw this.#end.error;
        else return;
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  close(reason: unknown): void {
    this.#stopKeeping();
    this.#call.abort(reason);
    this.#end ??= { error: reason };
    this.#resume();
    this.#wake();
  }

  #push(part: StreamPart): Promise<void> | undefined {
    if (this.#end !== null) return undefined;
    const size = sizeOf(part);
    this.#parts.push(part);
    this.#unread += size;
    if (this.isCached && this.#memory.reserve(size)) this.#cachedSize += size;
    else this.#stopKeeping();
    this.#wake();
    if (this.#unread <= this.#maxUnread) return undefined;
    return new Promise((resolve) => this.#paused.push(resolve));
  }

  #markRead(count: number, part: StreamPart): void {
    if (count <= this.#read) return;
    this.#read = count;
    this.#unread -= sizeOf(part);
    if (!this.isCached) this.#dropRead();
    if (this.#unread <= this.#maxUnread) this.#resume();
  }

  /** The answer can be read only once from here on. */
  #stopKeeping(): void {
    if (!this.isCached) return;
    this.isCached = false;
    this.#memory.free(this.#cachedSize);
    this.#cachedSize = 0;
    this.#dropRead();
  }

  #dropRead(): void {
    this.#parts.splice(0, this.#read - this.#dropped);
    this.#dropped = this.#read;
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #resume(): void {
    for (const resume of this.#paused.splice(0)) resume();
  }
}

function sizeOf(part: StreamPart): number {
  const text =
    "delta" in part ? part.delta : "input" in part && typeof part.input === "string" ? part.input : "";
  return PART_SIZE + text.length;
}
