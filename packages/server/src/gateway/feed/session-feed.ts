/**
 * `SessionFeed` follows the log of one session once, for all its subscribers in this process. New entries are folded
 * once, encoded once per format, and sent to all live subscriptions. A subscription that catches up reads separately.
 * Invariant: a subscription joins its group only at exactly the feed's position, in the same tick as that check. So it
 * misses no entry, and a slow one does not delay the others. After every `await`, `isWaitingFor` must be checked
 * again. Caches contain only data that can be read again. A broadcast never spans the end of a turn.
 */
import { comparePositions, formatCursor, type Position, type SessionState } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";
import type { InvalidCursorReason } from "../../log/log.ts";
import { isStoreError } from "../../store/errors.ts";
import type { SessionRef } from "../../util/refs.ts";
import { resolveStart, type InitialFrames } from "../subscription/resolve-start.ts";
import { formatKey } from "../encoding/stream-format.ts";
import { needsFoldedState, type EncodingTarget, createEncodingTarget } from "../encoding/encode.ts";
import type { FeedContext, FeedListener } from "../subscription/feed-context.ts";
import type { SubscriptionEndReason, SubscribeOptions, Subscriber } from "../subscription/subscription.ts";
import { type LogFollower, followLog } from "./follow-log.ts";
import { Gate } from "../../util/gate.ts";
import { LiveState } from "./live-state.ts";
import { EntryBuffer } from "./entry-buffer.ts";
import { PromiseCache } from "../../util/promise-cache.ts";
import { BroadcastGroup } from "./broadcast-group.ts";
import { CatchUpReader } from "./catch-up-reader.ts";
import { retryWhileUnavailable } from "./retry-while-unavailable.ts";
import {
  endedTurn,
  buildReplayPage,
  type ReplayPage,
  type ReplayState,
  replayStateAt,
} from "../subscription/replay-page.ts";
import {
  endsWithTurn,
  SubscriptionController,
  type SubscriptionHost,
} from "../subscription/subscription-controller.ts";
import { StateIndex } from "./state-index.ts";
import type { StartMode } from "../subscription/subscription-state.ts";

const BUFFER_BYTES = 128 * 1024;
/** How long initial frames and replay pages are shared with other subscriptions. */
const SHARE_MS = 250;
const ZERO: Position = { epoch: 0, seq: 0 };
/** Estimated size of one state. States share most of their data. */
const STATE_BYTES = 1_000;

export class SessionFeed implements SubscriptionHost, LogFollower {
  readonly ref: SessionRef;
  readonly context: FeedContext;
  readonly #resolveBlobUrl: (blob: string) => string;
  readonly #closing = new AbortController();
  readonly controllers = new Set<SubscriptionController>();
  readonly #listeners = new Set<FeedListener>();
  readonly #groups = new Map<string, BroadcastGroup>();
  /** Subscriptions whose position is after the feed's. */
  readonly #ahead = new Set<SubscriptionController>();
  readonly #following = new Gate();
  readonly #stateIndex: StateIndex;
  readonly #catchUpReader = new CatchUpReader(this);
  readonly #pageCache = new PromiseCache<ReplayPage>(SHARE_MS);
  readonly #startCache = new PromiseCache<InitialFrames>(SHARE_MS);
  #buffer: EntryBuffer | null = null;
  /** The state at the feed's position, while a live subscription needs it. */
  #liveState: LiveState | null = null;
  /** True if the formats of all groups support raw deltas. */
  #useRawDeltas = true;
  #lastEntryAt: number | null = null;
  #isMemoryReleased = true;

  constructor(ref: SessionRef, context: FeedContext) {
    this.ref = ref;
    this.context = context;
    this.#resolveBlobUrl = context.createBlobUrlResolver(ref);
    this.#stateIndex = new StateIndex(context, ref);
    this.#follow();
  }

  get head(): Position {
    return this.#buffer?.head ?? ZERO;
  }

  /** Null while the feed does not follow the log. */
  get buffer(): EntryBuffer | null {
    return this.#buffer;
  }

  get isIdle(): boolean {
    return this.controllers.size === 0 && this.#listeners.size === 0;
  }

  /** True if the feed has ended and no longer follows the log. */
  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Approximate size of buffers and caches. */
  get memoryBytes(): number {
    return (this.#buffer?.bytes ?? 0) + this.#stateIndex.size * STATE_BYTES;
  }

  /** The state at the feed's position, or null while no live subscription needs it. */
  get headState(): SessionState | null {
    return this.#liveState?.state ?? null;
  }

  /** When the last entries arrived or the feed was opened, by `performance.now`. */
  get lastEntryAt(): number | null {
    return this.#lastEntryAt;
  }

  /** Resolves when the feed follows the log. */
  ready(): Promise<void> {
    return this.#following.wait();
  }

  subscribe(options: SubscribeOptions, subscriber: Subscriber): SubscriptionController {
    const controller = new SubscriptionController(
      this,
      options,
      createEncodingTarget(options.format, this.ref.session, this.#resolveBlobUrl),
      subscriber,
    );
    this.controllers.add(controller);
    controller.start();
    return controller;
  }

  addListener(listener: FeedListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#closing.abort();
  }

  /** Frees the memory that only a running turn needs, `afterMs` after the last entry. */
  releaseMemory(now: number, afterMs: number): void {
    if (this.#isMemoryReleased) return;
    // These expire even during a turn: expired entries are useless and can be large.
    this.#pageCache.expire(now);
    this.#startCache.expire(now);
    if (this.#lastEntryAt === null || now - this.#lastEntryAt < afterMs) return;
    // A running turn without events still continues. A client that reconnects then must not need a fold from its start.
    const { headState } = this;
    if (headState?.turns.last()?.status === "running") return;
    this.clearCaches();
    if (headState !== null) this.#liveState = this.#createLiveState(this.#stateIndex.trim(headState));
    this.#isMemoryReleased = true;
  }

  /** Drops everything that can be read again. */
  clearCaches(): void {
    this.#buffer?.clear();
    this.#stateIndex.clear();
    this.#pageCache.clear();
    this.#startCache.clear();
  }

  // ---- requests of controllers

  start(controller: SubscriptionController, requestId: number, mode: StartMode): void {
    void this.#respond(controller, async () => {
      // Drop the caches, which led to an invalid position. Also back off: a restart loop must not slow down the others.
      if (mode.type === "restart" && ++controller.restarts > 1) this.clearCaches();
      if (controller.restarts > 2) await this.context.sleep(Math.min(1_000, 20 * 2 ** controller.restarts));
      await this.#following.wait();
      // Skip a subscription that was closed or has sent a newer request.
      if (!controller.isWaitingFor(requestId)) return;
      const { target, options } = controller;
      const key = `${mode.type} ${formatKey(target.format)}`;
      this.#isMemoryReleased = false;
      const share = (build: () => Promise<InitialFrames>) =>
        this.#startCache.get(key, performance.now(), build);
      const { replayState, ...rest } = await resolveStart(this, target, options, mode, share);
      if (!controller.isWaitingFor(requestId)) return;
      controller.replayState = replayState;
      controller.dispatch({ type: "started", requestId, ...rest });
    });
  }

  read(controller: SubscriptionController, requestId: number, after: Position): void {
    void this.#respond(controller, async () => {
      await this.#following.wait();
      if (!controller.isWaitingFor(requestId)) return;
      if (needsFoldedState(controller.target.format) && controller.replayState === null) {
        const state = await this.stateAt(after);
        if (typeof state === "string") return controller.dispatch({ type: "invalidPosition", requestId });
        if (!controller.isWaitingFor(requestId)) return;
        controller.replayState = replayStateAt(controller.target, state);
      }
      const entries = await this.#catchUpReader.readAfterWithArchive(after);
      if (entries === null) return controller.dispatch({ type: "invalidPosition", requestId });
      const isComplete = entries.length === 0 && (await this.#isCompleteFor(controller));
      if (!controller.isWaitingFor(requestId)) return;
      if (entries.length === 0) return this.#joinIfCaughtUp(controller, requestId, after, isComplete);
      const { replayState, ...page } = await this.#buildPage(controller, after, entries);
      if (!controller.isWaitingFor(requestId)) return;
      controller.replayState = replayState;
      controller.dispatch({ type: "page", requestId, ...page });
    });
  }

  leaveGroup(controller: SubscriptionController): void {
    const key = formatKey(controller.options.format);
    const group = this.#groups.get(key);
    group?.subscribers.delete(controller);
    if (group?.subscribers.size !== 0) return;
    this.#groups.delete(key);
    const groups = [...this.#groups.values()];
    if (!groups.some(({ isFolded }) => isFolded)) this.#liveState = null;
    this.#useRawDeltas = groups.every(({ takesRawDeltas }) => takesRawDeltas);
  }

  remove(controller: SubscriptionController): void {
    this.controllers.delete(controller);
    this.#ahead.delete(controller);
    this.leaveGroup(controller);
  }

  reportError(error: unknown): void {
    this.context.onError(error, { during: `subscriber of ${this.ref.session}` });
  }

  /** Returns why the log can't continue from a position, or null if it can. */
  async checkPosition(position: Position): Promise<InvalidCursorReason | null> {
    const entries = await this.#catchUpReader.readAfter(position, 1);
    return typeof entries === "string" ? entries : null;
  }

  async isBuffered(position: Position): Promise<boolean> {
    if ((await this.checkPosition(position)) !== null) return false;
    return (this.#buffer?.entriesAfter(position, 1) ?? null) !== null;
  }

  readonly stateAt = async (position: Position): Promise<SessionState | InvalidCursorReason> => {
    const { headState } = this;
    if (headState !== null && comparePositions(headState, position) === 0) return headState;
    this.#isMemoryReleased = false;
    return this.#stateIndex.at(position, this.#buffer);
  };

  isTrimmedStateArchived(): Promise<boolean> {
    return this.#stateIndex.isTrimmedStateArchived();
  }

  stateBeforeLastTurn(): Promise<SessionState> {
    this.#isMemoryReleased = false;
    return this.#stateIndex.stateBeforeLastTurn(this.head, this.#buffer);
  }

  // ---- catching up

  async #respond(controller: SubscriptionController, work: () => Promise<void>): Promise<void> {
    try {
      await retryWhileUnavailable(work, this.context.sleep, this.#closing.signal);
    } catch (error) {
      const isNotFound = isStoreError(error, "NOT_FOUND");
      if (!isNotFound) this.context.onError(error, { during: `subscription to ${this.ref.session}` });
      controller.dispatch({ type: "end", reason: isNotFound ? "gone" : "unavailable" });
    }
  }

  /** The page is shared by all subscriptions with the same position and format. */
  #buildPage(
    { target, options, replayState }: SubscriptionController,
    after: Position,
    entries: readonly LogEntry[],
  ): Promise<ReplayPage> {
    const isLastTurn = (turn: string): boolean => endsWithTurn(options, turn);
    const build = (): Promise<ReplayPage> =>
      this.context.slices.run(() => {
        const page = buildReplayPage(target, replayState, entries, isLastTurn);
        for (const entry of entries) entry.releaseParsed();
        return page;
      });
    if (options.untilTurnEnd !== undefined || options.untilIdle === true) return build();
    this.#isMemoryReleased = false;
    return this.#pageCache.get(
      `${formatKey(target.format)} ${formatCursor(after)}`,
      performance.now(),
      build,
    );
  }

  /** Called when there was nothing to read. Joins, unless new entries arrived or the feed is behind. */
  #joinIfCaughtUp(
    controller: SubscriptionController,
    requestId: number,
    after: Position,
    isComplete: boolean,
  ): void {
    if ((this.#buffer?.entriesAfter(after, 1)?.length ?? 0) > 0)
      return this.read(controller, requestId, after);
    // The subscription is ahead of the feed, or the log ends before this position and the feed will detect that too.
    if (comparePositions(after, this.head) !== 0) {
      this.#ahead.add(controller);
      return controller.dispatch({ type: "noData", requestId });
    }
    if (isComplete) return controller.dispatch({ type: "end", reason: "complete" });
    this.#joinGroup(controller.target, controller.replayState).add(controller);
    controller.replayState = null;
    controller.restarts = 0;
    controller.dispatch({ type: "caughtUp", requestId });
  }

  /** The store also knows a running turn whose start the log has lost. Its next attempt will write the start again. */
  async #isCompleteFor({ options, replayState }: SubscriptionController): Promise<boolean> {
    if (options.untilIdle !== true || replayState?.state.turns.last()?.status === "running") return false;
    return (await this.context.store.running.get(this.ref)) === null;
  }

  #joinGroup(target: EncodingTarget, replayState: ReplayState | null): Set<SubscriptionController> {
    if (replayState !== null) this.#liveState ??= this.#createLiveState(replayState.state);
    const key = formatKey(target.format);
    const group = this.#groups.get(key) ?? new BroadcastGroup(target, replayState?.encoderState ?? null);
    this.#groups.set(key, group);
    this.#useRawDeltas &&= group.takesRawDeltas;
    return group.subscribers;
  }

  #createLiveState(state: SessionState): LiveState {
    return new LiveState(state, (before, event) => this.#stateIndex.fold(before, event));
  }

  // ---- following

  #follow(): void {
    followLog(this.context, this.ref, this, this.#closing.signal)
      .then((reason) => reason !== null && this.#end(reason))
      .catch((error: unknown) => {
        this.context.onError(error, { during: `feed of ${this.ref.session}` });
        this.#end("unavailable");
      });
  }

  onOpen(position: Position, isReopened: boolean): void {
    this.#buffer = new EntryBuffer(position, BUFFER_BYTES);
    this.#lastEntryAt ??= performance.now();
    this.#following.open();
    if (!isReopened) return;
    for (const controller of this.controllers) controller.dispatch({ type: "feedReset" });
    for (const listener of this.#listeners) listener.onReset();
  }

  onReset(): void {
    this.#following.close();
    this.clearCaches();
    this.#liveState = null;
    this.#buffer = null;
  }

  #end(reason: SubscriptionEndReason): void {
    this.#closing.abort();
    this.#following.open();
    for (const controller of this.controllers) controller.dispatch({ type: "end", reason });
    for (const listener of this.#listeners) listener.onEnd(reason);
  }

  /** Splits broadcasts at the end of a turn, because some subscriptions end exactly there. */
  onEntries(entries: readonly LogEntry[]): void {
    this.#lastEntryAt = performance.now();
    this.#isMemoryReleased = false;
    const before = this.head;
    let from = 0;
    for (let n = 0; n < entries.length; n++) {
      const ended = endedTurn(entries[n] as LogEntry);
      const isLast = n === entries.length - 1;
      if (ended === null && !isLast) continue;
      this.#broadcast(from === 0 && isLast ? entries : entries.slice(from, n + 1), ended);
      from = n + 1;
    }
    if (this.#listeners.size > 0) this.#notifyListeners(entries, before);
  }

  #broadcast(entries: readonly LogEntry[], endedTurnId: string | null): void {
    const { epoch, seq } = entries.at(-1) as LogEntry;
    const position = { epoch, seq };
    // Empty while no format needs the effects of the entries.
    const changes = this.#liveState?.apply(entries, this.#useRawDeltas) ?? [];
    for (const group of this.#groups.values()) group.broadcast(entries, changes, position, endedTurnId);
    this.#buffer?.push(entries);
    if (this.#ahead.size === 0) return;
    const ahead = [...this.#ahead];
    this.#ahead.clear();
    for (const controller of ahead) controller.dispatch({ type: "dataAvailable" });
  }

  #notifyListeners(entries: readonly LogEntry[], from: Position): void {
    let before = from;
    for (const entry of entries) {
      for (const listener of this.#listeners) listener.onEntry(entry, before);
      before = entry;
    }
  }
}
