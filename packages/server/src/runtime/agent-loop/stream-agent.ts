/**
 * Runs the body that a team brought along and tells what comes out of it. It is not journaled until it is done: see
 * `fromStream` for what that means.
 */
import { type Event, legal, SCHEMA_VERSION } from "@turnstream/protocol";
import { modelErrorFrom } from "../../models/errors.ts";
import { AiSdkReader } from "./ai-sdk-stream.ts";
import type { AiSdkResult, Body, BodyEvent } from "../define/stream-body.ts";
import { BODY } from "../attempt/journal-entries.ts";
import { LimitReached, TurnFailed } from "../attempt/outcomes.ts";
import type { BlockPlace, TurnDraft } from "../events/turn-writer.ts";
import type { RunScope } from "../attempt/run-context.ts";
import type { Prompt } from "../../models/model.ts";
import { unlessAborted } from "../../util/concurrency.ts";

export async function runBody(scope: RunScope, body: Body, prompt: Prompt): Promise<void> {
  const { attempt } = scope;
  if (attempt.recall(BODY) !== undefined && body.rerun === "never") {
    throw new TurnFailed("SERVER_ERROR", "the worker died while the body ran", { canRetry: true });
  }
  await attempt.note(BODY, true);
  const { tenant, session, turn, user, message } = attempt.row;
  const { signal } = attempt;
  const context = { signal, message, prompt, tenant, session, turn, user };
  const result = await unlessAborted((async () => body.run(context))(), signal).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : bodyFailed(error);
  });
  if (isObject(result) && "fullStream" in result) await readAiSdk(scope, result);
  else if (isObject(result) && Symbol.asyncIterator in result) await readEvents(scope, result);
  else throw new TurnFailed("SERVER_ERROR", "the body gave neither a stream nor events");
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

async function readAiSdk(scope: RunScope, { fullStream }: AiSdkResult): Promise<void> {
  const reader = new AiSdkReader(scope);
  for await (const part of stoppable(fullStream, scope.attempt.signal, modelErrorFrom))
    await reader.take(part);
  await reader.end();
}

/** Whatever a body throws is the body's, also when it looks like one of our own errors. */
function bodyFailed(cause: unknown): TurnFailed {
  return new TurnFailed("SERVER_ERROR", "the body failed", { canRetry: true, cause });
}

/** Blocks have the body's own names, and ours beside them. */
async function readEvents(scope: RunScope, events: AsyncIterable<BodyEvent>): Promise<void> {
  const { attempt, run, agent } = scope;
  const { pen, parts } = attempt;
  const places = new Map<string, BlockPlace>();
  let count = 0;
  for await (const event of stoppable(events, attempt.signal, bodyFailed)) {
    if (count++ >= agent.limits.tokens) throw new LimitReached(`${agent.limits.tokens} events`);
    const index = pen.turn.items.length;
    const place = places.get(event.block) ?? { run, block: `b${index}`, index };
    places.set(event.block, place);
    const draft = { ...event, ...place } as TurnDraft;
    const judged = {
      v: SCHEMA_VERSION,
      at: parts.env.now(),
      ...draft,
      turn: pen.turn.id,
      id: `${pen.state.epoch}-${pen.state.seq + 1}`,
    };
    const wrong = legal(pen.state, judged as Event);
    if (wrong !== null) {
      throw new TurnFailed("SERVER_ERROR", `the body broke rule ${wrong.rule}: ${wrong.message}`);
    }
    await pen.write(draft);
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
      const { done, value } = await unlessAborted(iterator.next(), signal).catch((error: unknown) => {
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
