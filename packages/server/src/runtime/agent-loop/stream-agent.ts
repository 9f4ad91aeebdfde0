/**
 * Runs the body that a team brought along and tells what comes out of it. It is not journaled until it is done: see
 * `defineStreamAgent` for what that means.
 */
import { type SessionEvent, SCHEMA_VERSION } from "@turnstream/protocol";
import { checkEvent } from "@turnstream/protocol/writer";
import { modelErrorFrom } from "../../models/errors.ts";
import { AiSdkStreamReader } from "./ai-sdk-stream.ts";
import type { AiSdkResult, StreamBody, StreamBodyEvent } from "../define/stream-body.ts";
import { STREAM_STARTED_KEY } from "../attempt/journal-entries.ts";
import { LimitReached, TurnFailed } from "../attempt/outcomes.ts";
import type { BlockRef, TurnEventDraft } from "../events/turn-writer.ts";
import type { RunContext } from "../attempt/run-context.ts";
import type { Prompt } from "../../models/model.ts";
import { abortable } from "../../util/concurrency.ts";

export async function runStreamAgent(scope: RunContext, body: StreamBody, prompt: Prompt): Promise<void> {
  const { attempt } = scope;
  if (attempt.fromJournal(STREAM_STARTED_KEY) !== undefined && !body.idempotent) {
    throw new TurnFailed("SERVER_ERROR", "the worker died while the body ran", { canRetry: true });
  }
  await attempt.journal(STREAM_STARTED_KEY, true);
  const { tenant, session, turn, user, message } = attempt.row;
  const { signal } = attempt;
  const context = { signal, message, prompt, tenant, session, turn, user };
  const result = await abortable((async () => body.run(context))(), signal).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : bodyFailed(error);
  });
  if (isObject(result) && "fullStream" in result) await readAiSdk(scope, result);
  else if (isObject(result) && Symbol.asyncIterator in result) await readEvents(scope, result);
  else throw new TurnFailed("SERVER_ERROR", "the body gave neither a stream nor events");
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

/** Whatever a body throws is the body's, also when it looks like one of our own errors. */
function bodyFailed(cause: unknown): TurnFailed {
  return new TurnFailed("SERVER_ERROR", "the body failed", { canRetry: true, cause });
}

/** Blocks have the body's own names, and ours beside them. */
async function readEvents(scope: RunContext, events: AsyncIterable<StreamBodyEvent>): Promise<void> {
  const { attempt, run, agent } = scope;
  const { writer, context } = attempt;
  const places = new Map<string, BlockRef>();
  let count = 0;
  for await (const event of stoppable(events, attempt.signal, bodyFailed)) {
    if (count++ >= agent.limits.maxTokens) throw new LimitReached(`${agent.limits.maxTokens} events`);
    const index = writer.turn.items.length;
    const place = places.get(event.block) ?? { run, block: `b${index}`, index };
    places.set(event.block, place);
    const draft = { ...event, ...place } as TurnEventDraft;
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
  }
}

/** Leaves off as soon as the signal says so, even if the other side doesn't listen. */
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
    // Not waited for: it may not listen.
    void iterator.return?.().catch(() => {});
  }
}
