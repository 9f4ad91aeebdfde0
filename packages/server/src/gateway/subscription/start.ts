/**
 * How a viewer begins, by dialect: where it was, if the log says that this is a good place; anew, with what is there now;
 * or after it was too slow. Says so in every case. Reads only; what comes after the beginning is a replay like any other.
 */
import {
  comparePositions,
  formatCursor,
  parseCursor,
  type Position,
  type SessionState,
} from "@turnstream/protocol";
import type { BadCursorReason } from "../../log/log.ts";
import { readHistory } from "../../session/history/read-history.ts";
import { withOlderTurns } from "../../session/history/turn-window.ts";
import type { Ref } from "../../store/refs.ts";
import type { DialectName } from "../encoding/stream-format.ts";
import { bytesOfFrames, resyncFrames, type Telling } from "../encoding/encode.ts";
import type { FeedParts } from "./feed-context.ts";
import type { SubscriptionWish, Told } from "./types.ts";
import { type Standing, standingAt } from "./replay-page.ts";
import { snapshotFrame } from "../encoding/snapshot.ts";
import type { Beginning } from "./state-machine.ts";

const FRAMES_AT_ONCE = 100;

/** What is there, for whoever begins with it. */
export interface Scene {
  readonly at: Position;
  readonly chunks: readonly Uint8Array[];
  readonly standing: Standing | null;
}

interface Begun extends Scene {
  /** Null when there is nothing to tell. */
  readonly told: Told | null;
}

/** Gives the same scene to all who want one at the same time: it is dear, and a bad cursor is cheap to send. */
type Shared = (make: () => Promise<Scene>) => Promise<Scene>;

/** What of a feed this needs. */
export interface BeginningsFeed {
  readonly ref: Ref;
  readonly parts: FeedParts;
  readonly head: Position;
  /** Why a position can't be gone on from; null when it can. */
  judge(position: Position): Promise<BadCursorReason | null>;
  /** Whether all that came after a position is at hand. */
  isNear(position: Position): Promise<boolean>;
  readonly stateAt: (position: Position) => Promise<SessionState | BadCursorReason>;
  /** Whether what states of this feed have dropped is archived as it was then. */
  isDroppedKept(): Promise<boolean>;
  /** Right before the newest turn began. */
  lastTurn(): Promise<SessionState>;
}

export async function beginAs(
  feed: BeginningsFeed,
  telling: Telling,
  wish: SubscriptionWish,
  how: Beginning,
  shared: Shared,
): Promise<Begun> {
  const begun = await beginningOf(feed, telling, wish, how, shared);
  if (telling.choice.dialect !== "native") return begun;
  const { told, at } = begun;
  if (told === null) return begun;
  const head = formatCursor(comparePositions(at, feed.head) > 0 ? at : feed.head);
  return { ...begun, told: { ...told, head } };
}

async function beginningOf(
  feed: BeginningsFeed,
  telling: Telling,
  wish: SubscriptionWish,
  how: Beginning,
  shared: Shared,
): Promise<Begun> {
  const fresh = (reason: Told["reason"]) => freshly(feed, telling, reason, shared);
  if (how.type === "anew") return fresh("expired");
  if (how.type === "set back" && how.since !== null && (await feed.isNear(how.since)))
    return goOn(null, how.since);
  if (how.type === "slow" || how.type === "set back")
    return (await afterSlowness(feed, telling, how.since)) ?? fresh("slow");
  if (wish.after === null) return fresh("fresh");
  const at = parseCursor(wish.after);
  if (at === null) return fresh("invalid");
  const reason = await feed.judge(at);
  if (reason === null) return goOn({ resumed: true, reason: "cursor" }, at);
  return fresh(reason === "trimmed" || reason === "missing" ? "expired" : "invalid");
}

function goOn(told: Told | null, at: Position): Begun {
  return { told, at, chunks: [], standing: null };
}

/** Null when it has to begin anew. */
async function afterSlowness(
  feed: BeginningsFeed,
  telling: Telling,
  since: Position | null,
): Promise<Begun | null> {
  const { dialect } = telling.choice;
  const isHeld = since !== null && (await feed.judge(since)) === null;
  if (!isHeld || dialect === "native") return null;
  const told = { resumed: true, reason: "slow" } as const;
  if (dialect !== "blocks") return goOn(told, since);
  const state = await stateNow(feed);
  const oldest = state.turns.at(0)?.start ?? 0;
  // What went on since then may be in turns that are not here.
  if (state.earlier > 0 && oldest > since.seq) return null;
  return {
    told,
    at: positionOf(state),
    chunks: await resync(feed, telling, state, since.seq),
    standing: null,
  };
}

async function freshly(
  feed: BeginningsFeed,
  telling: Telling,
  reason: Told["reason"],
  shared: Shared,
): Promise<Begun> {
  const told: Told = { resumed: false, reason };
  return { told, ...(await shared(() => sceneOf(feed, telling, telling.choice.dialect))) };
}

async function sceneOf(feed: BeginningsFeed, telling: Telling, dialect: DialectName): Promise<Scene> {
  switch (dialect) {
    case "native": {
      const state = await stateNow(feed);
      const { slices, limits } = feed.parts;
      const bytes = await snapshotFrame(slices, telling, state, limits.turns);
      return { at: positionOf(state), chunks: [bytes], standing: null };
    }
    case "blocks": {
      const state = await stateNow(feed);
      return { at: positionOf(state), chunks: await resync(feed, telling, state, 0), standing: null };
    }
    case "tasks":
      return lastTurn(feed, telling);
    case "responses": {
      const { head } = feed;
      const state = await feed.stateAt(head);
      // A stream of it is one answer: where none is being given there is nothing to begin with.
      const isRunning = typeof state !== "string" && state.turns.last()?.status === "running";
      return isRunning ? lastTurn(feed, telling) : { at: head, chunks: [], standing: null };
    }
  }
}

async function lastTurn(feed: BeginningsFeed, telling: Telling): Promise<Scene> {
  const base = await feed.lastTurn();
  return { at: positionOf(base), chunks: [], standing: standingAt(telling, base) };
}

async function resync(
  { parts: { slices } }: BeginningsFeed,
  telling: Telling,
  state: SessionState,
  since: number,
): Promise<readonly Uint8Array[]> {
  const frames = resyncFrames(state, since);
  const chunks: Uint8Array[] = [];
  for (let isMore = true; isMore;) {
    const some = await slices.run(() => taken(frames, FRAMES_AT_ONCE));
    const bytes = await slices.run(() => bytesOfFrames(telling, some));
    if (bytes !== null) chunks.push(bytes);
    isMore = some.length === FRAMES_AT_ONCE;
  }
  return chunks;
}

function taken<T>(from: Iterator<T>, most: number): T[] {
  const some: T[] = [];
  while (some.length < most) {
    const { done, value } = from.next();
    if (done === true) break;
    some.push(value);
  }
  return some;
}

/** A window on the session, where the feed stands or later. */
async function stateNow(feed: BeginningsFeed): Promise<SessionState> {
  const { parts, ref } = feed;
  const { turns } = parts.limits;
  const state = await feed.stateAt(feed.head);
  if (typeof state !== "string" && (await feed.isDroppedKept()))
    return withOlderTurns(parts, ref, state, { turns });
  // What the archive has of older turns is not all; or the log can't be joined to it, and then it is what there is.
  return (await readHistory(parts, ref, { turns })).state;
}

function positionOf({ epoch, seq }: Position): Position {
  return { epoch, seq };
}
