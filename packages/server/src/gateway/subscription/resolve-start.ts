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
import type { InvalidCursorReason } from "../../log/log.ts";
import { readHistory } from "../../session/history/read-history.ts";
import { prependOlderTurns } from "../../session/history/turn-window.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { DialectName } from "../encoding/stream-format.ts";
import { encodeFrames, resyncFrames, type EncodingTarget } from "../encoding/encode.ts";
import type { FeedContext } from "./feed-context.ts";
import type { SubscribeOptions, SubscribedInfo } from "./subscription.ts";
import { type ReplayState, replayStateAt } from "./replay-page.ts";
import { encodeSnapshotFrame } from "../encoding/encode-snapshot.ts";
import type { StartMode } from "./subscription-state.ts";

const FRAMES_AT_ONCE = 100;

/** What is there, for whoever begins with it. */
export interface InitialFrames {
  readonly at: Position;
  readonly chunks: readonly Uint8Array[];
  readonly standing: ReplayState | null;
}

interface Begun extends InitialFrames {
  /** Null when there is nothing to tell. */
  readonly told: SubscribedInfo | null;
}

/** Gives the same scene to all who want one at the same time: it is dear, and a bad cursor is cheap to send. */
type Shared = (make: () => Promise<InitialFrames>) => Promise<InitialFrames>;

/** What of a feed this needs. */
export interface StartSource {
  readonly ref: SessionRef;
  readonly parts: FeedContext;
  readonly head: Position;
  /** Why a position can't be gone on from; null when it can. */
  checkPosition(position: Position): Promise<InvalidCursorReason | null>;
  /** Whether all that came after a position is at hand. */
  isBuffered(position: Position): Promise<boolean>;
  readonly stateAt: (position: Position) => Promise<SessionState | InvalidCursorReason>;
  /** Whether what states of this feed have dropped is archived as it was then. */
  isTrimmedStateArchived(): Promise<boolean>;
  /** Right before the newest turn began. */
  lastTurn(): Promise<SessionState>;
}

export async function resolveStart(
  feed: StartSource,
  telling: EncodingTarget,
  wish: SubscribeOptions,
  how: StartMode,
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
  feed: StartSource,
  telling: EncodingTarget,
  wish: SubscribeOptions,
  how: StartMode,
  shared: Shared,
): Promise<Begun> {
  const fresh = (reason: SubscribedInfo["reason"]) => freshly(feed, telling, reason, shared);
  if (how.type === "anew") return fresh("expired");
  if (how.type === "set back" && how.since !== null && (await feed.isBuffered(how.since)))
    return goOn(null, how.since);
  if (how.type === "slow" || how.type === "set back")
    return (await afterSlowness(feed, telling, how.since)) ?? fresh("slow");
  if (wish.after === null) return fresh("fresh");
  const at = parseCursor(wish.after);
  if (at === null) return fresh("invalid");
  const reason = await feed.checkPosition(at);
  if (reason === null) return goOn({ resumed: true, reason: "cursor" }, at);
  return fresh(reason === "trimmed" || reason === "missing" ? "expired" : "invalid");
}

function goOn(told: SubscribedInfo | null, at: Position): Begun {
  return { told, at, chunks: [], standing: null };
}

/** Null when it has to begin anew. */
async function afterSlowness(
  feed: StartSource,
  telling: EncodingTarget,
  since: Position | null,
): Promise<Begun | null> {
  const { dialect } = telling.choice;
  const isHeld = since !== null && (await feed.checkPosition(since)) === null;
  if (!isHeld || dialect === "native") return null;
  const told = { resumed: true, reason: "slow" } as const;
  if (dialect !== "blocks") return goOn(told, since);
  const state = await stateNow(feed);
  const oldest = state.turns.get(0)?.start ?? 0;
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
  feed: StartSource,
  telling: EncodingTarget,
  reason: SubscribedInfo["reason"],
  shared: Shared,
): Promise<Begun> {
  const told: SubscribedInfo = { resumed: false, reason };
  return { told, ...(await shared(() => sceneOf(feed, telling, telling.choice.dialect))) };
}

async function sceneOf(
  feed: StartSource,
  telling: EncodingTarget,
  dialect: DialectName,
): Promise<InitialFrames> {
  switch (dialect) {
    case "native": {
      const state = await stateNow(feed);
      const { slices, limits } = feed.parts;
      const bytes = await encodeSnapshotFrame(slices, telling, state, limits.snapshotTurns);
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

async function lastTurn(feed: StartSource, telling: EncodingTarget): Promise<InitialFrames> {
  const base = await feed.lastTurn();
  return { at: positionOf(base), chunks: [], standing: replayStateAt(telling, base) };
}

async function resync(
  { parts: { slices } }: StartSource,
  telling: EncodingTarget,
  state: SessionState,
  since: number,
): Promise<readonly Uint8Array[]> {
  const frames = resyncFrames(state, since);
  const chunks: Uint8Array[] = [];
  for (let isMore = true; isMore;) {
    const some = await slices.run(() => taken(frames, FRAMES_AT_ONCE));
    const bytes = await slices.run(() => encodeFrames(telling, some));
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
async function stateNow(feed: StartSource): Promise<SessionState> {
  const { parts, ref } = feed;
  const { snapshotTurns } = parts.limits;
  const state = await feed.stateAt(feed.head);
  if (typeof state !== "string" && (await feed.isTrimmedStateArchived()))
    return prependOlderTurns(parts, ref, state, { turns: snapshotTurns });
  // What the archive has of older turns is not all; or the log can't be joined to it, and then it is what there is.
  return (await readHistory(parts, ref, { turns: snapshotTurns })).state;
}

function positionOf({ epoch, seq }: Position): Position {
  return { epoch, seq };
}
