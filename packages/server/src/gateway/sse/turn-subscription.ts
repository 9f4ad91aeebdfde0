/**
 * A subscription to one turn that is told whole, whatever became of the log: where that no longer reaches back to the turn's
 * beginning, the turn is told from the archive once it is over. A client that sends its message again much later gets the
 * same answer.
 */
import { type Event, fold, parseCursor, Sequence, type SessionState, type Turn } from "@turnstream/protocol";
import { blobAddresses } from "../../session/blob-address.ts";
import { isStoreError } from "../../store/errors.ts";
import type { Ref } from "../../store/refs.ts";
import { attachEncoder, bytesOfFrames, framesOfEvent, tellingOf } from "../encoding.ts";
import type { Choice } from "../choice.ts";
import type { Subscription, SubscriptionWish, Viewer } from "../feeds.ts";
import type { GatewayParts } from "../http/route.ts";

const PAGE = 200;

/** Like `subscribe` of feeds. */
export function subscribeToTurn(
  parts: GatewayParts,
  ref: Ref,
  wish: SubscriptionWish,
  viewer: Viewer,
): Subscription {
  const { until } = wish;
  if (until === undefined) return parts.feeds.subscribe(ref, wish, viewer);
  const left = new AbortController();
  let isFromArchive = false;
  const fromArchive = (): void => {
    if (isFromArchive) return;
    isFromArchive = true;
    inner.closed();
    void tellFromArchive(parts, ref, { turn: until, choice: wish.choice }, viewer, left.signal);
  };
  /** It goes on from now: if the turn was over by then, its end would never come. */
  const endWithTurn = async (from: number): Promise<void> => {
    try {
      const { end } = (await parts.feeds.ended(ref, until, left.signal)).turn;
      if (end !== null && end <= from) fromArchive();
    } catch {
      // The subscription itself meets it too.
    }
  };
  const inner = parts.feeds.subscribe(ref, wish, {
    outlet: viewer.outlet,
    told(told) {
      viewer.told(told);
      if (told.resumed) return;
      if (told.reason !== "slow") return fromArchive();
      void endWithTurn(parseCursor(inner.position)?.seq ?? 0);
    },
    ended: (reason) => {
      if (isFromArchive) return;
      left.abort();
      viewer.ended(reason);
    },
  });
  return {
    get position() {
      return inner.position;
    },
    flushed: () => inner.flushed(),
    drained: () => inner.drained(),
    closed() {
      left.abort();
      inner.closed();
    },
  };
}

async function tellFromArchive(
  parts: GatewayParts,
  ref: Ref,
  { turn, choice }: { readonly turn: string; readonly choice: Choice },
  viewer: Viewer,
  signal: AbortSignal,
): Promise<void> {
  try {
    const ended = await parts.feeds.ended(ref, turn, signal);
    const events = await archivedEvents(parts, ref, ended.turn);
    if (signal.aborted) return;
    const base = blobAddresses(ref, { base: parts.blobBase, secret: parts.secrets[0], now: parts.env.now() });
    const telling = tellingOf(choice, ref.session, base);
    const bytes = bytesOfFrames(telling, framesOfTurn(choice, before(ended.state, events), events));
    if (bytes !== null) viewer.outlet.send(bytes);
    viewer.ended(bytes === null ? "unavailable" : "over");
  } catch (error) {
    if (signal.aborted) return;
    const isGone = isStoreError(error, "NOT_FOUND");
    if (!isGone) parts.onError(error, `turn ${turn}, from the archive`);
    viewer.ended(isGone ? "gone" : "unavailable");
  }
}

/** From the turn's first event to its last. */
async function archivedEvents({ store }: GatewayParts, ref: Ref, turn: Turn): Promise<Event[]> {
  const events: Event[] = [];
  for (let after = turn.start - 1; ;) {
    const page = await store.archive.events(ref, { after, limit: PAGE });
    const end = page.findIndex((event) => event.type === "turn.end" && event.turn === turn.id);
    events.push(...(end < 0 ? page : page.slice(0, end + 1)));
    const last = parseCursor(page.at(-1)?.id);
    if (end >= 0 || last === null) return events;
    after = last.seq;
  }
}

/** The session right before these events, as far as they need it. */
function before(state: SessionState, [first]: readonly Event[]): SessionState {
  const at = parseCursor(first?.id);
  if (at === null) return state;
  return { ...state, turns: Sequence.empty(), epoch: at.epoch, seq: (first?.first ?? at.seq) - 1 };
}

function framesOfTurn(choice: Choice, from: SessionState, events: readonly Event[]): object[] {
  const frames: object[] = [];
  let state = from;
  let remembered = attachEncoder(choice, state);
  for (const event of events) {
    const after = fold(state, event);
    const encoded = framesOfEvent(choice, remembered, event, state, after);
    for (const frame of encoded.frames) frames.push(frame);
    [state, remembered] = [after, encoded.remembered];
  }
  return frames;
}
