/**
 * `followSession` yields the events of a session in a dialect, from now on, until the signal is aborted.
 * Invariant: each event that happens after the first notice is yielded once and in order. If events were lost with the
 * log, it continues from the current state and yields a notice, so a gap is never silent.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { fold, type SessionEvent, type SessionState } from "@turnstream/protocol";
import { blocks } from "@turnstream/protocol/blocks";
import { responses } from "@turnstream/protocol/responses";
import { tasks } from "@turnstream/protocol/tasks";
import type { Dialect } from "@turnstream/protocol/writer";
import { type Backend, readHistory, type SessionRef } from "@turnstream/server";
import { CommandError } from "../cli-context.ts";

export const DIALECTS = ["native", "blocks", "tasks", "responses"] as const;
export type DialectName = (typeof DIALECTS)[number];

export type Followed =
  | { readonly type: "frame"; readonly at: number; readonly frame: object }
  | { readonly type: "notice"; readonly text: string };

export interface FollowOptions {
  readonly dialect: DialectName;
  /** End when no turn runs and no message is queued. */
  readonly untilIdle: boolean;
  readonly signal: AbortSignal;
}

/** Between two reads of a log that can't be followed. */
const RETRY_MS = 500;

export async function* followSession(
  backend: Backend,
  ref: SessionRef,
  options: FollowOptions,
): AsyncGenerator<Followed> {
  const { signal, untilIdle } = options;
  const readFloor = async () => (await backend.store.archive.header(ref)).archived;
  let isFollowing = false;
  while (!signal.aborted) {
    const { state: from, cursor } = await readHistory(backend, ref, { turns: 1 });
    if (!isFollowing) yield { type: "notice", text: describeStart(ref, untilIdle) };
    isFollowing = true;
    if (untilIdle && isIdle(from)) return;
    const encode = createEncoder(options.dialect, from);
    let state = from;
    const deliveries = backend.log.attach(ref, { after: cursor, readFloor, signal });
    for await (const delivery of deliveries) {
      if (delivery.type === "end") {
        yield { type: "notice", text: describeEnd(delivery.reason, ref) };
        break;
      }
      for (const { event } of delivery.entries) {
        state = fold(state, event);
        for (const frame of encode(event, state)) yield { type: "frame", at: event.at, frame };
      }
      if (untilIdle && isIdle(state)) return;
    }
    if (!signal.aborted) await sleep(RETRY_MS);
  }
}

/** Returns true if no turn runs and no message is queued. */
function isIdle({ turns, waiting }: SessionState): boolean {
  return waiting.length === 0 && turns.last()?.status !== "running";
}

function describeStart({ session }: SessionRef, untilIdle: boolean): string {
  return `Following session ${session}${untilIdle ? " until it is idle" : ". Ctrl-C ends it"}.`;
}

/** @throws CommandError if the session can't be followed any more */
function describeEnd(reason: string, { session }: SessionRef): string {
  if (reason === "removed") throw new CommandError(`Session ${session} was deleted.`);
  if (reason === "unavailable")
    throw new CommandError("Redis can't be reached any more. `turnstream doctor` checks it.");
  return `The log can't be continued (${reason}). Continuing from the current state.`;
}

type Encode = (event: SessionEvent, after: SessionState) => readonly object[];

function createEncoder(name: DialectName, state: SessionState): Encode {
  if (name === "blocks") return encodeWith(blocks, state);
  if (name === "tasks") return encodeWith(tasks, state);
  if (name === "responses") return encodeWith(responses, state);
  return (event) => [event];
}

function encodeWith<EncoderState, Frame extends object, Options>(
  dialect: Dialect<EncoderState, Frame, Options>,
  state: SessionState,
): Encode {
  let encoder = dialect.attach(state);
  return (event, after) => {
    const encoded = dialect.encode(encoder, event, after);
    encoder = encoded.encoder;
    return encoded.frames;
  };
}
