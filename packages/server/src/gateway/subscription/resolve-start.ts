/**
 * `resolveStart` decides how a subscription starts, by dialect: at its cursor, if the log can continue from there; fresh,
 * with what is there now; or after it was too slow. Reads only; what comes after the start is a replay like any other.
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

const FRAMES_PER_SLICE = 100;

/** The frames that a fresh subscription starts with, and the position that they lead to. */
export interface InitialFrames {
  readonly position: Position;
  readonly chunks: readonly Uint8Array[];
  readonly replayState: ReplayState | null;
}

export interface ResolvedStart extends InitialFrames {
  /** Null when the client needs no notice: it continues as if it had not been interrupted. */
  readonly info: SubscribedInfo | null;
}

/**
 * Shares the initial frames between all subscribers that start at the same time. Building them is expensive, and any
 * client can trigger it with an invalid cursor.
 */
type ShareFrames = (build: () => Promise<InitialFrames>) => Promise<InitialFrames>;

/** What this needs of a feed. */
export interface StartSource {
  readonly ref: SessionRef;
  readonly context: FeedContext;
  readonly head: Position;
  /** Why the log can't continue from a position; null when it can. */
  checkPosition(position: Position): Promise<InvalidCursorReason | null>;
  /** Whether all that came after a position is at hand. */
  isBuffered(position: Position): Promise<boolean>;
  readonly stateAt: (position: Position) => Promise<SessionState | InvalidCursorReason>;
  /** Whether what states of this feed have dropped is archived as it was then. */
  isTrimmedStateArchived(): Promise<boolean>;
  /** The state right before the newest turn started. */
  stateBeforeLastTurn(): Promise<SessionState>;
}

export async function resolveStart(
  feed: StartSource,
  target: EncodingTarget,
  options: SubscribeOptions,
  mode: StartMode,
  share: ShareFrames,
): Promise<ResolvedStart> {
  const start = await resolveByMode(feed, target, options, mode, share);
  if (target.format.dialect !== "native") return start;
  const { info, position } = start;
  if (info === null) return start;
  const head = formatCursor(comparePositions(position, feed.head) > 0 ? position : feed.head);
  return { ...start, info: { ...info, head } };
}

async function resolveByMode(
  feed: StartSource,
  target: EncodingTarget,
  options: SubscribeOptions,
  mode: StartMode,
  share: ShareFrames,
): Promise<ResolvedStart> {
  const fresh = (reason: SubscribedInfo["reason"]) => startFresh(feed, target, reason, share);
  if (mode.type === "restart") return fresh("expired");
  if (mode.type === "evicted" && mode.since !== null && (await feed.isBuffered(mode.since)))
    return continueAt(null, mode.since);
  if (mode.type === "slow" || mode.type === "evicted")
    return (await resumeSlow(feed, target, mode.since)) ?? fresh("slow");
  if (options.after === null) return fresh("fresh");
  const position = parseCursor(options.after);
  if (position === null) return fresh("invalid");
  const reason = await feed.checkPosition(position);
  if (reason === null) return continueAt({ resumed: true, reason: "cursor" }, position);
  return fresh(reason === "trimmed" || reason === "missing" ? "expired" : "invalid");
}

function continueAt(info: SubscribedInfo | null, position: Position): ResolvedStart {
  return { info, position, chunks: [], replayState: null };
}

/** Null when it has to start fresh. */
async function resumeSlow(
  feed: StartSource,
  target: EncodingTarget,
  since: Position | null,
): Promise<ResolvedStart | null> {
  const { dialect } = target.format;
  const isValid = since !== null && (await feed.checkPosition(since)) === null;
  if (!isValid || dialect === "native") return null;
  const info = { resumed: true, reason: "slow" } as const;
  if (dialect !== "blocks") return continueAt(info, since);
  const state = await readCurrentState(feed);
  const oldest = state.turns.get(0)?.start ?? 0;
  // What changed since then may be in turns that are not here.
  if (state.earlier > 0 && oldest > since.seq) return null;
  return {
    info,
    position: toPosition(state),
    chunks: await encodeResync(feed, target, state, since.seq),
    replayState: null,
  };
}

async function startFresh(
  feed: StartSource,
  target: EncodingTarget,
  reason: SubscribedInfo["reason"],
  share: ShareFrames,
): Promise<ResolvedStart> {
  const info: SubscribedInfo = { resumed: false, reason };
  return { info, ...(await share(() => buildInitialFrames(feed, target, target.format.dialect))) };
}

async function buildInitialFrames(
  feed: StartSource,
  target: EncodingTarget,
  dialect: DialectName,
): Promise<InitialFrames> {
  switch (dialect) {
    case "native": {
      const state = await readCurrentState(feed);
      const { slices, limits } = feed.context;
      const bytes = await encodeSnapshotFrame(slices, target, state, limits.snapshotTurns);
      return { position: toPosition(state), chunks: [bytes], replayState: null };
    }
    case "blocks": {
      const state = await readCurrentState(feed);
      const chunks = await encodeResync(feed, target, state, 0);
      return { position: toPosition(state), chunks, replayState: null };
    }
    case "tasks":
      return startAtLastTurn(feed, target);
    case "responses": {
      const { head } = feed;
      const state = await feed.stateAt(head);
      // A stream of it is one answer: while no turn runs there is nothing to start with.
      const isRunning = typeof state !== "string" && state.turns.last()?.status === "running";
      return isRunning ? startAtLastTurn(feed, target) : { position: head, chunks: [], replayState: null };
    }
  }
}

async function startAtLastTurn(feed: StartSource, target: EncodingTarget): Promise<InitialFrames> {
  const base = await feed.stateBeforeLastTurn();
  return { position: toPosition(base), chunks: [], replayState: replayStateAt(target, base) };
}

async function encodeResync(
  { context: { slices } }: StartSource,
  target: EncodingTarget,
  state: SessionState,
  since: number,
): Promise<readonly Uint8Array[]> {
  const frames = resyncFrames(state, since);
  const chunks: Uint8Array[] = [];
  for (let isMore = true; isMore;) {
    const batch = await slices.run(() => take(frames, FRAMES_PER_SLICE));
    const bytes = await slices.run(() => encodeFrames(target, batch));
    if (bytes !== null) chunks.push(bytes);
    isMore = batch.length === FRAMES_PER_SLICE;
  }
  return chunks;
}

function take<T>(iterator: Iterator<T>, limit: number): T[] {
  const batch: T[] = [];
  while (batch.length < limit) {
    const { done, value } = iterator.next();
    if (done === true) break;
    batch.push(value);
  }
  return batch;
}

/** A window on the session, at the head of the feed or later. */
async function readCurrentState(feed: StartSource): Promise<SessionState> {
  const { context, ref } = feed;
  const { snapshotTurns } = context.limits;
  const state = await feed.stateAt(feed.head);
  if (typeof state !== "string" && (await feed.isTrimmedStateArchived()))
    return prependOlderTurns(context, ref, state, { turns: snapshotTurns });
  // What the archive has of older turns is not all; or the log can't be joined to it, and then it is what there is.
  return (await readHistory(context, ref, { turns: snapshotTurns })).state;
}

function toPosition({ epoch, seq }: Position): Position {
  return { epoch, seq };
}
