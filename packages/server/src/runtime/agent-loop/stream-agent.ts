/**
 * `runStreamAgent` runs the body of a `defineStreamAgent` agent and writes its output to the log.
 *
 * Invariant: the journal only records that the body started. An interrupted body starts over if it is idempotent, and
 * fails the turn otherwise. Each event of a body is checked against the protocol before it is written. The body stops
 * at the abort signal even if it ignores it. It counts as one model call, and starts only when it has a slot. Its output is not cached for another attempt,
 * because its usage and requests are written while it runs.
 */
import { listBlocks, type RequestBlock, type SessionEvent, SCHEMA_VERSION } from "@turnstream/protocol";
import { checkEvent } from "@turnstream/protocol/writer";
import { modelErrorFrom } from "../../models/errors.ts";
import { AiSdkStreamReader } from "./ai-sdk-stream.ts";
import type { AiSdkResult, RequestEvent, StreamBody, StreamBodyEvent } from "../define/stream-body.ts";
import { commitRequests } from "../interactions/ending-request.ts";
import type { TurnAttempt } from "../attempt/attempt.ts";
import { STREAM_STARTED_KEY } from "../attempt/journal-entries.ts";
import { LimitReached, TurnFailed } from "../attempt/outcomes.ts";
import type { BlockRef, TurnEventDraft } from "../events/turn-writer.ts";
import type { RunContext } from "../attempt/run-context.ts";
import type { Prompt } from "../../models/model.ts";
import { resolveImages } from "../prompt/images.ts";
import { abortable } from "../../util/concurrency.ts";

/** Events that only a feature writes, because a body can't decide about what they say. */
const OF_FEATURES = /^payment\./;

export async function runStreamAgent(scope: RunContext, body: StreamBody, prompt: Prompt): Promise<void> {
  const { attempt } = scope;
  if (attempt.fromJournal(STREAM_STARTED_KEY) !== undefined && !body.idempotent) {
    throw new TurnFailed(
      "SERVER_ERROR",
      "the worker stopped while the body ran, and the body is not idempotent",
      { canRetry: true },
    );
  }
  const { context, row, signal, drainGate } = attempt;
  await context.modelSlots.run(row, signal, () => drainGate.run(signal, () => runBody(scope, body, prompt)));
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
  else
    throw new TurnFailed(
      "SERVER_ERROR",
      "the body must return a streamText result or an async iterable of events",
    );
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

async function readAiSdk(scope: RunContext, { fullStream }: AiSdkResult): Promise<void> {
  const reader = new AiSdkStreamReader(scope);
  for await (const part of stoppable(fullStream, scope.attempt.signal, modelErrorFrom))
    await reader.read(part);
  await reader.end();
}

/** Wraps every error of a body, so that an error that looks like one of ours is not treated as ours. */
function bodyFailed(cause: unknown): TurnFailed {
  return new TurnFailed("SERVER_ERROR", "the body failed", { canRetry: true, cause });
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
    if (OF_FEATURES.test(type))
      throw new TurnFailed("SERVER_ERROR", `the body yielded ${type}, which only a feature writes`);
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
    if (violation !== null) {
      throw new TurnFailed("SERVER_ERROR", `the body broke rule ${violation.rule}: ${violation.message}`);
    }
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
  const read = kind?.parse?.(spec) ?? {
    ok: false,
    problem: `the worker doesn't have the feature of ${name}`,
  };
  if (kind === undefined || !read.ok)
    throw new TurnFailed(
      "SERVER_ERROR",
      `the body made an invalid request: ${read.ok ? name : read.problem}`,
    );
  const written = listBlocks(turn).filter((block) => block.kind === name) as RequestBlock[];
  const known = written[nth];
  if (known !== undefined && kind.isSame?.(known, read.request) === true) return null;
  return kind.draft(attempt, kind.idFor(row.turn, written.length + 1), read.request);
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
