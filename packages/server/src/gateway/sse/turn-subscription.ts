/**
 * `subscribeToTurn` subscribes to one whole turn. If the log no longer has its start, the turn is sent from the
 * archive after it has ended. So a client that repeats its message much later gets the same answer.
 * Invariant: `onEnd` is called once, by the feed or by the archive, never by both. The archive sends the whole turn
 * from its first event, each chunk only after the previous one was flushed. Without `untilTurnEnd` it is a plain
 * subscription.
 */
import { type SessionEvent, parseCursor, Sequence, type SessionState } from "@turnstream/protocol";
import { isStoreError } from "../../store/errors.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { FrameSink } from "../connection/frame-sink.ts";
import { createEncodingTarget, type EncodingTarget } from "../encoding/encode.ts";
import type { StreamFormat } from "../encoding/stream-format.ts";
import type { GatewayContext } from "../context.ts";
import { encodeReplay, type ReplayState, replayStateAt } from "../subscription/replay-page.ts";
import type { TurnEnded } from "../feed/turn-watch.ts";
import type { Subscription, SubscribeOptions, Subscriber } from "../subscription/subscription.ts";

const PAGE_EVENTS = 200;
const CHUNK_LENGTH = 128 * 1024;

/** Like `subscribe` of feeds. */
export function subscribeToTurn(
  context: GatewayContext,
  ref: SessionRef,
  options: SubscribeOptions,
  subscriber: Subscriber,
): Subscription {
  const { untilTurnEnd } = options;
  if (untilTurnEnd === undefined) return context.feeds.subscribe(ref, options, subscriber);
  const closed = new AbortController();
  const sender = new PacedSender();
  let usesArchive = false;
  const switchToArchive = (): void => {
    if (usesArchive) return;
    usesArchive = true;
    inner.onClose();
    void sendFromArchive(
      context,
      ref,
      { turn: untilTurnEnd, format: options.format },
      subscriber,
      sender,
      closed.signal,
    );
  };
  /** The subscription continues from the current position. If the turn ended before it, its end would never arrive. */
  const watchTurnEnd = async (from: number): Promise<void> => {
    try {
      const { end } = (await context.feeds.waitForTurnEnd(ref, untilTurnEnd, closed.signal)).turn;
      if (end !== null && end <= from) switchToArchive();
    } catch {
      // The subscription gets the same error.
    }
  };
  const inner = context.feeds.subscribe(ref, options, {
    sink: subscriber.sink,
    onSubscribed(info) {
      subscriber.onSubscribed(info);
      if (info.resumed) return;
      if (info.reason !== "slow") return switchToArchive();
      void watchTurnEnd(parseCursor(inner.cursor)?.seq ?? 0);
    },
    onStalled: (frame) => subscriber.onStalled?.(frame),
    onEnd: (reason) => {
      if (usesArchive) return;
      closed.abort();
      subscriber.onEnd(reason);
    },
  });
  return {
    get cursor() {
      return inner.cursor;
    },
    onFlush() {
      sender.onSinkEvent("flushed");
      inner.onFlush();
    },
    onDrain() {
      sender.onSinkEvent("drained");
      inner.onDrain();
    },
    onClose() {
      closed.abort();
      sender.onSinkEvent("closed");
      inner.onClose();
    },
  };
}

async function sendFromArchive(
  context: GatewayContext,
  ref: SessionRef,
  { turn, format }: { readonly turn: string; readonly format: StreamFormat },
  subscriber: Subscriber,
  sender: PacedSender,
  signal: AbortSignal,
): Promise<void> {
  try {
    const ended = await context.feeds.waitForTurnEnd(ref, turn, signal);
    const send = (bytes: Uint8Array): Promise<boolean> => sender.send(subscriber.sink, bytes, signal);
    const target = createEncodingTarget(format, ref.session, context.createBlobUrlResolver(ref));
    const hasFrames = await streamArchivedTurn(context, ref, target, ended, send);
    if (!signal.aborted) subscriber.onEnd(hasFrames ? "complete" : "unavailable");
  } catch (error) {
    if (signal.aborted) return;
    const isNotFound = isStoreError(error, "NOT_FOUND");
    if (!isNotFound) context.onError(error, { during: `turn ${turn}, from the archive` });
    subscriber.onEnd(isNotFound ? "gone" : "unavailable");
  }
}

type SinkEvent = "flushed" | "drained" | "closed";

/** Sends chunks one after the other, each after the previous one was flushed, so that it never fills the queue. */
class PacedSender {
  #resolve: ((event: SinkEvent) => void) | null = null;

  onSinkEvent(event: SinkEvent): void {
    this.#resolve?.(event);
    this.#resolve = null;
  }

  /** @returns false if the connection is closed */
  async send(sink: FrameSink, bytes: Uint8Array, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      const result = sink.send(bytes);
      if (result === "written") break;
      const event = await new Promise((resolve) => (this.#resolve = resolve));
      // After a drop the queued chunk is lost, so send it again.
      if (result === "queued" && event === "flushed") break;
    }
    return !signal.aborted;
  }
}

/**
 * Sends an ended turn from the archive, page by page. Does not read the log.
 * @param send takes the bytes of some frames; returns false if the connection is closed
 * @returns true if anything was sent
 */
async function streamArchivedTurn(
  { store, slices }: GatewayContext,
  ref: SessionRef,
  target: EncodingTarget,
  ended: TurnEnded,
  send: (bytes: Uint8Array) => Promise<boolean>,
): Promise<boolean> {
  const { id, start } = ended.turn;
  let replayState: ReplayState | null = null;
  let hasFrames = false;
  for (let after = start - 1; ;) {
    const page = await store.archive.events(ref, { after, limit: PAGE_EVENTS });
    const end = page.findIndex((event) => event.type === "turn.end" && event.turn === id);
    const events = end < 0 ? page : page.slice(0, end + 1);
    for (let n = 0; n < events.length;) {
      const from: ReplayState = replayState ?? replayStateAt(target, stateBefore(ended.state, events));
      const chunk = await slices.run(() => encodeReplay(target, from, events.slice(n), CHUNK_LENGTH));
      if (chunk.bytes !== null) {
        hasFrames = true;
        if (!(await send(chunk.bytes))) return true;
      }
      n += chunk.count;
      replayState = chunk.replayState;
    }
    const last = parseCursor(page.at(-1)?.id);
    if (end >= 0 || last === null) return hasFrames;
    after = last.seq;
  }
}

/** Returns the state directly before these events, without earlier turns, which they don't need. */
function stateBefore(state: SessionState, [first]: readonly SessionEvent[]): SessionState {
  const at = parseCursor(first?.id);
  if (at === null) return state;
  return { ...state, turns: Sequence.empty(), epoch: at.epoch, seq: (first?.first ?? at.seq) - 1 };
}
