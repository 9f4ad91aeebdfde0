/**
 * `runStreamAgent` runs the body of a `defineStreamAgent` agent and writes its output to the log: the events that it
 * yields, or the `streamText` stream of the AI SDK that it returns.
 *
 * Invariant: the journal only records that the body started, and the usage of each finished step. An interrupted body
 * starts over if it is idempotent, and fails the turn otherwise. Each event of a body is checked against the protocol
 * before it is written. Of an AI SDK stream, unknown parts are ignored. The body stops at the abort signal even if it
 * ignores it. It counts as one model call, and starts only when it has a slot. Its output is not cached for another
 * attempt, because its usage and requests are written while it runs.
 */
import { listBlocks, type RequestBlock, type SessionEvent, SCHEMA_VERSION } from "@turnstream/protocol";
import { checkEvent } from "@turnstream/protocol/writer";
import { modelErrorFrom } from "../../models/errors.ts";
import type { ModelUsage, Prompt, StreamPart } from "../../models/model.ts";
import { usageOf } from "../../models/usage.ts";
import { abortable } from "../../util/concurrency.ts";
import type { TurnAttempt } from "../../engine/attempt/attempt.ts";
import { type StepCall, STREAM_STARTED_KEY, type ToolCallRecord } from "../run/journal-entries.ts";
import { LimitReached, TurnFailed } from "../../engine/attempt/outcomes.ts";
import type { RunContext } from "../run/run-context.ts";
import { failedResult, parseToolOutput, successResult } from "../run/tool-result.ts";
import { toUsageRecord } from "../run/usage-record.ts";
import type {
  AiSdkPart,
  AiSdkResult,
  RequestEvent,
  StreamBody,
  StreamBodyEvent,
} from "../define/stream-body.ts";
import type { BlockRef, TurnEventDraft } from "../../engine/events/turn-writer.ts";
import { commitRequests } from "../../engine/interactions/commit-requests.ts";
import { resolveImages } from "../prompt/images.ts";
import { offloadLargeOutput } from "../tool-calls/offload-output.ts";
import { writeToolResult } from "../tool-calls/write-result.ts";
import { enforceLimits, enforceUsageLimits } from "./enforce-limits.ts";
import { StepWriter } from "./step-writer.ts";

/** Events that only a feature writes, because a body can't decide about what they say. */
const OF_FEATURES = /^payment\./;

export async function runStreamAgent(scope: RunContext, body: StreamBody, prompt: Prompt): Promise<void> {
  const { attempt } = scope;
  if (attempt.fromJournal(STREAM_STARTED_KEY) !== undefined && !body.idempotent)
    throw new TurnFailed("the worker stopped while the body ran, and the body is not idempotent", {
      canRetry: true,
    });
  const { row, signal, drainGate } = attempt;
  await scope.host.modelSlots.run(row, signal, () =>
    drainGate.run(signal, () => runBody(scope, body, prompt)),
  );
}

async function runBody(scope: RunContext, body: StreamBody, prompt: Prompt): Promise<void> {
  const { attempt } = scope;
  await attempt.journal(STREAM_STARTED_KEY, true);
  const { tenant, session, turn, user, message } = attempt.row;
  const { signal, locale } = attempt;
  const resolved = await resolveImages(scope, prompt);
  const context = { signal, message, prompt: resolved, tenant, session, turn, user, locale };
  const result = await abortable((async () => body.run(context))(), signal).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : bodyFailed(error);
  });
  if (isObject(result) && "fullStream" in result) await readAiSdk(scope, result);
  else if (isObject(result) && Symbol.asyncIterator in result) await readEvents(scope, result);
  else throw new TurnFailed("the body must return a streamText result or an async iterable of events");
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Wraps every error of a body, so that an error that looks like one of ours is not treated as ours. */
function bodyFailed(cause: unknown): TurnFailed {
  return new TurnFailed("the body failed", { canRetry: true, cause });
}

/** Maps the body's own block ids to block ids of the log. */
async function readEvents(scope: RunContext, events: AsyncIterable<StreamBodyEvent>): Promise<void> {
  const { attempt, run, agent } = scope;
  const { writer, context } = attempt;
  const places = new Map<string, BlockRef>();
  let count = 0;
  let requested = 0;
  for await (const event of stoppable(events, attempt.signal, bodyFailed)) {
    if (count++ >= agent.limits.maxTokens)
      throw new LimitReached({ limit: "events", value: agent.limits.maxTokens });
    const { type } = event as { readonly type: string };
    if (OF_FEATURES.test(type)) throw new TurnFailed(`the body yielded ${type}, which only a feature writes`);
    const complete = event.type === "request" ? await completeRequest(attempt, event, requested++) : event;
    // An earlier attempt wrote this request.
    if (complete === null) continue;
    const index = writer.turn.items.length;
    const place = places.get(event.block) ?? { run, block: `b${index}`, index };
    places.set(event.block, place);
    const draft = { ...complete, ...place } as TurnEventDraft;
    const candidate = {
      v: SCHEMA_VERSION,
      at: context.env.now(),
      ...draft,
      turn: writer.turn.id,
      id: `${writer.state.epoch}-${writer.state.seq + 1}`,
    };
    const violation = checkEvent(writer.state, candidate as SessionEvent);
    if (violation !== null)
      throw new TurnFailed(`the body broke rule ${violation.rule}: ${violation.message}`);
    await writer.write(draft);
    if (event.type === "request") await commitRequests(attempt);
  }
}

/**
 * Checks a request of the body, and adds its ids. A body that runs again must make the same requests in the same order.
 * @returns null if the request is in the log
 */
async function completeRequest(
  attempt: TurnAttempt,
  { kind: name, spec }: RequestEvent,
  nth: number,
): Promise<object | null> {
  const { context, turn, row } = attempt;
  const kind = context.requestKinds.get(name);
  const read = kind?.parse?.(spec);
  if (kind === undefined || read === undefined)
    throw new TurnFailed(`the body made an invalid request: the worker doesn't have the feature of ${name}`);
  if (!read.ok) throw new TurnFailed(`the body made an invalid request: ${read.problem}`);
  const written = listBlocks(turn).filter((block) => block.kind === name) as RequestBlock[];
  const known = written[nth];
  if (known !== undefined && kind.isSame?.(known, read.request) === true) return null;
  return kind.draft(attempt, kind.idFor(row.turn, written.length + 1), read.request);
}

async function readAiSdk(scope: RunContext, { fullStream }: AiSdkResult): Promise<void> {
  const reader = new AiSdkStreamReader(scope);
  for await (const part of stoppable(fullStream, scope.attempt.signal, modelErrorFrom))
    await reader.read(part);
  await reader.end();
}

/** Writes text, thinking, calls, and the results of tools that the SDK ran. Limits are checked when a step starts. */
class AiSdkStreamReader {
  readonly #scope: RunContext;
  #step: StepWriter;
  /** Number of finished steps. */
  #steps = 0;
  readonly #calls = new Map<string, StepCall>();

  constructor(scope: RunContext) {
    this.#scope = scope;
    this.#step = new StepWriter(scope);
  }

  async read(part: AiSdkPart): Promise<void> {
    switch (part.type) {
      case "text-start":
      case "text-end":
      case "reasoning-start":
      case "reasoning-end":
      case "tool-input-start":
      case "tool-input-delta":
        return this.#step.writePart(part as unknown as StreamPart);
      case "text-delta":
      case "reasoning-delta": {
        const delta = part["text"] ?? part["delta"];
        return this.#step.writePart({ ...part, delta } as unknown as StreamPart);
      }
      case "tool-call":
        return this.#call(part);
      case "tool-result":
        return part["preliminary"] === true ? undefined : this.#output(part);
      case "tool-error": {
        const error: unknown = part["error"];
        const why = error instanceof Error ? error.message : String(error);
        return this.#result(part, failedResult(why, this.#scope.attempt.strings.toolFailed));
      }
      case "abort":
        throw new TurnFailed("the stream of the agent was aborted without a stop request", {
          canRetry: true,
        });
      case "start-step":
        enforceLimits(this.#scope, this.#steps);
        // The first step was checked before the body started.
        return this.#steps === 0 ? undefined : enforceUsageLimits(this.#scope.attempt);
      case "finish-step":
        return this.#endStep(part["usage"] as FlatUsage | undefined);
      case "error":
        throw modelErrorFrom(part["error"]);
      default:
        return;
    }
  }

  async end(): Promise<void> {
    await this.#step.finish();
  }

  async #call(part: AiSdkPart): Promise<void> {
    const toolCallId = String(part["toolCallId"]);
    const toolName = String(part["toolName"]);
    const input = JSON.stringify(part["input"] ?? {});
    await this.#step.writePart({ type: "tool-call", toolCallId, toolName, input });
    const call = this.#step.lastCall;
    if (call !== null) this.#calls.set(toolCallId, call);
  }

  /** Drops references, because the developer's code prompts this model and can't give it their ids. */
  async #output(part: AiSdkPart): Promise<void> {
    const call = this.#calls.get(String(part["toolCallId"]));
    if (call === undefined) return;
    const output = await offloadLargeOutput(this.#scope, call, parseToolOutput(part["output"]));
    await this.#result(part, { ...successResult(output, 0), whole: output.whole });
  }

  async #result(part: AiSdkPart, record: ToolCallRecord): Promise<void> {
    const id = String(part["toolCallId"]);
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (call !== undefined) await writeToolResult(this.#scope, call, record);
  }

  /** Ends a step and records its usage. Text before tool calls is not final; text of the last step is. */
  async #endStep({ inputTokens, outputTokens }: FlatUsage = {}): Promise<void> {
    await this.#step.finish();
    this.#step = new StepWriter(this.#scope);
    const { attempt, path, agent } = this.#scope;
    const usage = {
      inputTokens: { total: inputTokens },
      outputTokens: { total: outputTokens },
    } as ModelUsage;
    await attempt.recordUsage(
      path,
      `step/${this.#steps++}`,
      toUsageRecord(agent, agent.name, usageOf(usage)),
    );
  }
}

interface FlatUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

/** Stops at the abort signal, even if the source ignores it. */
async function* stoppable<T>(
  items: AsyncIterable<T>,
  signal: AbortSignal,
  errorFrom: (error: unknown) => unknown,
): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    while (true) {
      const { done, value } = await abortable(iterator.next(), signal).catch((error: unknown) => {
        throw signal.aborted ? signal.reason : errorFrom(error);
      });
      if (done === true) return;
      yield value;
    }
  } finally {
    // Not awaited, because a source that ignores the signal may never return.
    void iterator.return?.().catch(() => {});
  }
}
