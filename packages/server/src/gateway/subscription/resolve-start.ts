/**
 * `resolveStart` decides per dialect how a subscription starts. It continues at the cursor if the log still has it,
 * starts fresh from the current state, or resyncs a slow subscriber. Reads only; a replay follows the start.
 * Invariant: the cursor comes from the client and is never trusted: an invalid one starts fresh, with the reason. The
 * frames bring the client exactly to `position`. Fresh frames are shared per format and start mode, so they must not
 * depend on other options of one subscriber.
 */
import {
  comparePositions,
  formatCursor,
  parseCursor,
  type Position,
  type SessionState,
} from "@turnstream/protocol";
import { eachResyncFrame } from "@turnstream/protocol/blocks";
import type { InvalidCursorReason } from "../../log/log.ts";
import { readHistory } from "../../session/history/read-history.ts";
import { restartOrphanedLog } from "../../session/lifecycle/create.ts";
import { prependOlderTurns } from "../../session/history/turn-pages.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { DialectName } from "../encoding/stream-format.ts";
import { encodeFrames, type EncodingTarget } from "../encoding/encode.ts";
import type { FeedContext } from "./feed-context.ts";
import type { SubscribeOptions, SubscribedInfo } from "./subscription.ts";
import { type ReplayState, replayStateAt } from "./replay-page.ts";
import { encodeSnapshotFrame } from "../encoding/encode-snapshot.ts";
import type { StartMode } from "./subscription-state.ts";

const FRAMES_PER_SLICE = 100;

/** The first frames of a fresh subscription, and the position after them. */
export interface InitialFrames {
  readonly position: Position;
  readonly chunks: readonly Uint8Array[];
  readonly replayState: ReplayState | null;
}

export interface ResolvedStart extends InitialFrames {
  /** Null if the client needs no notice, because it continues without a gap. */
  readonly info: SubscribedInfo | null;
}

/**
 * Shares the initial frames between all subscribers that start at the same time. Building them is expensive, and any
 * client can trigger it with an invalid cursor.
 */
type ShareFrames = (build: () => Promise<InitialFrames>) => Promise<InitialFrames>;

/** The part of a feed that this module uses. */
export interface StartSource {
  readonly ref: SessionRef;
  readonly context: FeedContext;
  readonly head: Position;
  /** Returns why the log can't continue from a position, or null if it can. */
  checkPosition(position: Position): Promise<InvalidCursorReason | null>;
  /** Returns true if all entries after a position are buffered. */
  isBuffered(position: Position): Promise<boolean>;
  readonly stateAt: (position: Position) => Promise<SessionState | InvalidCursorReason>;
  /** Returns true if the turns that the feed dropped from its states are archived unchanged. */
  isTrimmedStateArchived(): Promise<boolean>;
  /** Returns the state directly before the newest turn started. */
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

/** Returns null if the subscription has to start fresh. */
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
  // The changes may be in turns that this state does not include.
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
      // A `responses` stream is one answer, so without a running turn there are no initial frames.
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
  const frames = eachResyncFrame(state, since);
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

/** Returns the newest turns of the session, at the position of the feed or later. */
async function readCurrentState(feed: StartSource): Promise<SessionState> {
  const { context, ref } = feed;
  const { snapshotTurns } = context.limits;
  const state = await feed.stateAt(feed.head);
  if (typeof state !== "string" && (await feed.isTrimmedStateArchived()))
    return prependOlderTurns(context, ref, state, { turns: snapshotTurns });
  // The dropped turns are not archived yet, or the feed has no state at its position. `readHistory` returns what the
  // archive and the log have.
  const history = await readHistory(context, ref, { turns: snapshotTurns });
  if (history.logUnavailableReason === "trimmed") await restartOrphanedLog(context, ref);
  return history.state;
}

function toPosition({ epoch, seq }: Position): Position {
  return { epoch, seq };
}
