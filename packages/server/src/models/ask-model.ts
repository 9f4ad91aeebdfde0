/**
 * `askModel` calls a model once and yields the parts of its answer. Does not retry and does not store the answer.
 * Invariant: every failure is a ModelError, except an abort, which throws the signal's reason. The last part is always
 * `finish`; an answer that ends without it, is refused or stays silent for `idleMs` throws. The order of parts is
 * checked. The provider's stream is closed when the caller stops early or the signal is aborted.
 */
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { ModelError, modelErrorFrom } from "./errors.ts";
import type { Model, ModelRequest, StreamPart, StreamPartOf } from "./model.ts";

export interface AskOptions {
  readonly signal: AbortSignal;
  /** How long the model may send nothing. Then the call fails with `SILENT`. @default 120_000 */
  readonly idleMs?: number;
}

const IDLE_MS = 120_000;
/** How long a finished stream may take to close. A stream that closes by itself leaves its connection reusable. */
const CLOSING_MS = 1000;

type Result = Awaited<ReturnType<Model["doStream"]>>;
type Reader = ReadableStreamDefaultReader<LanguageModelV4StreamPart>;

/** @throws ModelError, or the signal's reason if it is aborted */
export async function* askModel(
  model: Model,
  request: ModelRequest,
  { signal, idleMs = IDLE_MS }: AskOptions,
): AsyncGenerator<StreamPart, void, undefined> {
  signal.throwIfAborted();
  const call = new AbortController();
  let reader: Reader | null = null;
  let isWaiting = true;
  let isFinished = false;
  let stopped: { readonly reason: unknown } | null = null;
  let failCall: ((reason: unknown) => void) | null = null;

  // Providers that observe the signal stop when the call is aborted. Canceling the reader ends the read for those that
  // don't.
  function stop(reason: unknown): void {
    stopped ??= { reason };
    failCall?.(reason);
    call.abort(reason);
    reader?.cancel(reason).catch(() => {});
  }
  const onAbort = () => stop(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  // One timer serves all parts. `refresh` also restarts it if it fired while no read was pending.
  const idle = setTimeout(() => {
    if (isWaiting) stop(new ModelError("SILENT"));
  }, idleMs);

  try {
    const result = await new Promise<Result>((resolve, reject) => {
      failCall = reject;
      const started = start(model, { ...request, abortSignal: call.signal, includeRawChunks: false });
      started.then(resolve, reject);
      // A provider that ignores the signal may still return a stream after the call was stopped. Cancel it, or it stays
      // open.
      started.then((late) => (stopped === null ? undefined : late.stream.cancel())).catch(() => {});
    });
    reader = result.stream.getReader();
    const check = createPartOrderValidator();
    for (;;) {
      isWaiting = true;
      idle.refresh();
      const { done, value: part } = await reader.read();
      isWaiting = false;
      if (stopped !== null) break;
      if (done) throw new ModelError("BROKEN_OFF");
      if (part.type === "ping" || part.type === "raw") continue;
      if (part.type === "error") throw modelErrorFrom(part.error);
      check(part);
      if (part.type === "finish") {
        throwUnlessComplete(part);
        isFinished = true;
        yield part;
        return;
      }
      yield part;
      if (stopped !== null) break;
    }
  } catch (error) {
    if (stopped === null) throw modelErrorFrom(error);
  } finally {
    clearTimeout(idle);
    signal.removeEventListener("abort", onAbort);
    if (isFinished && reader !== null) closeSoon(reader, call);
    else stop(undefined);
  }
  throw (stopped as { readonly reason: unknown } | null)?.reason;
}

/** Turns a synchronous throw of the provider into a rejection. */
async function start(model: Model, options: Parameters<Model["doStream"]>[0]): Promise<Result> {
  return model.doStream(options);
}

function throwUnlessComplete({ finishReason, usage }: StreamPartOf<"finish">): void {
  switch (finishReason.unified) {
    case "content-filter":
      throw new ModelError("REFUSED", { usage });
    case "error":
      throw new ModelError("PROVIDER_FAILED", { usage });
    case "interrupted":
      throw new ModelError("BROKEN_OFF", { usage });
    default:
  }
}

function closeSoon(reader: Reader, call: AbortController): void {
  const giveUp = setTimeout(() => {
    call.abort();
    reader.cancel().catch(() => {});
  }, CLOSING_MS);
  giveUp.unref();
  void drain(reader).finally(() => clearTimeout(giveUp));
}

async function drain(reader: Reader): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // The answer is complete, so an error while the connection closes does not matter.
  }
}

/**
 * Returns a function that checks the parts of one answer in order and throws ModelError at the first invalid one. A delta
 * or an end needs an open block of its kind, and no open block starts twice. Deltas must be text, and tool calls have id,
 * name and input text. Blocks that are still open at the end are accepted.
 */
function createPartOrderValidator(): (part: StreamPart) => void {
  const texts = new Set<string>();
  const thoughts = new Set<string>();
  const inputs = new Set<string>();

  return (part) => {
    switch (part.type) {
      case "text-delta":
        return within(texts, part.id, part.delta);
      case "tool-input-delta":
        return within(inputs, part.id, part.delta);
      case "reasoning-delta":
        return within(thoughts, part.id, part.delta);
      case "text-start":
        return open(texts, part.id);
      case "text-end":
        return close(texts, part.id);
      case "reasoning-start":
        return open(thoughts, part.id);
      case "reasoning-end":
        return close(thoughts, part.id);
      case "tool-input-start":
        return open(inputs, part.id);
      case "tool-input-end":
        return close(inputs, part.id);
      case "tool-call":
        if (typeof part.input !== "string" || part.toolCallId === "" || part.toolName === "")
          throw malformed("a tool call lacks its id, name or input");
        return;
      default:
        if (typeof part.type !== "string") throw malformed("a part has no type");
    }
  };
}

function open(ids: Set<string>, id: string): void {
  if (ids.has(id)) throw malformed("a block was started twice");
  ids.add(id);
}

function close(ids: Set<string>, id: string): void {
  if (!ids.delete(id)) throw malformed("a block that is not open was ended");
}

function within(ids: Set<string>, id: string, delta: unknown): void {
  if (!ids.has(id)) throw malformed("a delta is for a block that is not open");
  if (typeof delta !== "string") throw malformed("a delta is not text");
}

function malformed(what: string): ModelError {
  return new ModelError("MALFORMED", { cause: new Error(what) });
}
