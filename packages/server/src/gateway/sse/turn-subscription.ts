/**
 * A subscription to one turn that is told whole, whatever became of the log: where that no longer reaches back to the turn's
 * beginning, the turn is told from the archive once it is over. A client that sends its message again much later gets the
 * same answer.
 */
import { type SessionEvent, fold, parseCursor, Sequence, type SessionState } from "@turnstream/protocol";
import { createBlobUrls } from "../../session/blobs/blob-url.ts";
import { isStoreError } from "../../store/errors.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { FrameSink } from "../connection/frame-sink.ts";
import {
  joinWireBytes,
  encodeEvent,
  type EncodingTarget,
  createEncodingTarget,
  frameText,
} from "../encoding/encode.ts";
import type { StreamFormat } from "../encoding/stream-format.ts";
import type { GatewayContext } from "../context.ts";
import { type ReplayState, replayStateAt } from "../subscription/replay-page.ts";
import type { TurnEnded } from "../feed/turn-watch.ts";
import type { Subscription, SubscribeOptions, Subscriber } from "../subscription/subscription.ts";

/** Like `subscribe` of feeds. */
export function subscribeToTurn(
  parts: GatewayContext,
  ref: SessionRef,
  wish: SubscribeOptions,
  viewer: Subscriber,
): Subscription {
  const { untilTurnEnd } = wish;
  if (untilTurnEnd === undefined) return parts.feeds.subscribe(ref, wish, viewer);
  const left = new AbortController();
  const pace = new Pace();
  let isFromArchive = false;
  const fromArchive = (): void => {
    if (isFromArchive) return;
    isFromArchive = true;
    inner.onClose();
    void tellFromArchive(parts, ref, { turn: untilTurnEnd, choice: wish.format }, viewer, pace, left.signal);
  };
  /** It goes on from now: if the turn was over by then, its end would never come. */
  const endWithTurn = async (from: number): Promise<void> => {
    try {
      const { end } = (await parts.feeds.waitForTurnEnd(ref, untilTurnEnd, left.signal)).turn;
      if (end !== null && end <= from) fromArchive();
    } catch {
      // The subscription itself meets it too.
    }
  };
  const inner = parts.feeds.subscribe(ref, wish, {
    sink: viewer.sink,
    onSubscribed(told) {
      viewer.onSubscribed(told);
      if (told.resumed) return;
      if (told.reason !== "slow") return fromArchive();
      void endWithTurn(parseCursor(inner.position)?.seq ?? 0);
    },
    onEnd: (reason) => {
      if (isFromArchive) return;
      left.abort();
      viewer.onEnd(reason);
    },
  });
  return {
    get position() {
      return inner.position;
    },
    onFlush() {
      pace.heard("flushed");
      inner.onFlush();
    },
    onDrain() {
      pace.heard("drained");
      inner.onDrain();
    },
    onClose() {
      left.abort();
      pace.heard("closed");
      inner.onClose();
    },
  };
}

async function tellFromArchive(
  parts: GatewayContext,
  ref: SessionRef,
  { turn, choice }: { readonly turn: string; readonly choice: StreamFormat },
  viewer: Subscriber,
  pace: Pace,
  signal: AbortSignal,
): Promise<void> {
  try {
    const ended = await parts.feeds.waitForTurnEnd(ref, turn, signal);
    const give = (bytes: Uint8Array): Promise<boolean> => pace.give(viewer.sink, bytes, signal);
    const isTold = await streamArchivedTurn(parts, { ref, choice, ended }, give);
    if (!signal.aborted) viewer.onEnd(isTold ? "over" : "unavailable");
  } catch (error) {
    if (signal.aborted) return;
    const isGone = isStoreError(error, "NOT_FOUND");
    if (!isGone) parts.onError(error, `turn ${turn}, from the archive`);
    viewer.onEnd(isGone ? "gone" : "unavailable");
  }
}

/** Gives an outlet one thing after the other, as fast as it leaves: so it never fills the queue. */
class Pace {
  #left: ((how: "flushed" | "drained" | "closed") => void) | null = null;

  heard(how: "flushed" | "drained" | "closed"): void {
    this.#left?.(how);
    this.#left = null;
  }

  /** @returns false when the connection is over */
  async give(outlet: FrameSink, bytes: Uint8Array, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      const sent = outlet.send(bytes);
      if (sent === "written") break;
      const how = await new Promise((resolve) => (this.#left = resolve));
      // After a drop, what had been queued is given once more.
      if (sent === "queued" && how === "flushed") break;
    }
    return !signal.aborted;
  }
}

/**
 * A turn that is over, told from the archive to one who has a stream to himself: a page at a time, each in a piece of its own
 * and only once the one before has left. Reads only; never looks at the log.
 */
const PAGE = 200;
const PIECE_LENGTH = 128 * 1024;

export interface ArchivedTurn {
  readonly ref: SessionRef;
  readonly choice: StreamFormat;
  readonly ended: TurnEnded;
}

/**
 * @param give takes the bytes of some frames; false when nobody wants more
 * @returns whether anything was told
 */
export async function streamArchivedTurn(
  { store, slices, blobBase, secrets, env }: GatewayContext,
  { ref, choice, ended }: ArchivedTurn,
  give: (bytes: Uint8Array) => Promise<boolean>,
): Promise<boolean> {
  const base = createBlobUrls(ref, { base: blobBase, secret: secrets[0], now: env.now() });
  const telling = createEncodingTarget(choice, ref.session, base);
  const { id, start } = ended.turn;
  let standing: ReplayState | null = null;
  let isTold = false;
  for (let after = start - 1; ;) {
    const page = await store.archive.events(ref, { after, limit: PAGE });
    const end = page.findIndex((event) => event.type === "turn.end" && event.turn === id);
    const events = end < 0 ? page : page.slice(0, end + 1);
    for (let n = 0; n < events.length;) {
      const from: ReplayState = standing ?? replayStateAt(telling, before(ended.state, events));
      const piece = await slices.run(() => pieceOf(telling, from, events, n));
      if (piece.bytes !== null) {
        isTold = true;
        if (!(await give(piece.bytes))) return true;
      }
      n = piece.next;
      standing = piece.standing;
    }
    const last = parseCursor(page.at(-1)?.id);
    if (end >= 0 || last === null) return isTold;
    after = last.seq;
  }
}

/** The session right before these events, as far as they need it. */
function before(state: SessionState, [first]: readonly SessionEvent[]): SessionState {
  const at = parseCursor(first?.id);
  if (at === null) return state;
  return { ...state, turns: Sequence.empty(), epoch: at.epoch, seq: (first?.first ?? at.seq) - 1 };
}

interface Piece {
  readonly bytes: Uint8Array | null;
  readonly standing: ReplayState;
  readonly next: number;
}

function pieceOf(
  telling: EncodingTarget,
  from: ReplayState,
  events: readonly SessionEvent[],
  start: number,
): Piece {
  const texts: string[] = [];
  let { state, remembered } = from;
  let next = start;
  for (let length = 0; next < events.length && length < PIECE_LENGTH; next++) {
    const event = events[next] as SessionEvent;
    const after = fold(state, event);
    const encoded = encodeEvent(telling.choice, remembered, event, state, after);
    for (const frame of encoded.frames) {
      const text = frameText(telling, frame);
      texts.push(text);
      length += text.length;
    }
    [state, remembered] = [after, encoded.remembered];
  }
  return { bytes: joinWireBytes(telling, texts), standing: { state, remembered }, next };
}
