/**
 * One session that somebody in this process looks at: follows its log once, for all its viewers. What comes is folded once,
 * encoded once for each choice, and given to everybody who is live; who catches up reads for itself and joins when it stands
 * where the feed stands. Nobody who catches up, and nobody who is slow, holds it up.
 */
import { comparePositions, formatCursor, type Position, type SessionState } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";
import type { InvalidCursorReason } from "../../log/log.ts";
import { isStoreError } from "../../store/errors.ts";
import type { SessionRef } from "../../store/refs.ts";
import { resolveStart, type InitialFrames } from "../subscription/resolve-start.ts";
import { formatKey } from "../encoding/stream-format.ts";
import { needsFoldedState, type EncodingTarget, createEncodingTarget } from "../encoding/encode.ts";
import type { FeedContext } from "../subscription/feed-context.ts";
import type { SubscriptionEndReason, SubscribeOptions, Subscriber } from "../subscription/subscription.ts";
import { type LogFollower, followLog } from "./follow-log.ts";
import { Gate } from "../../util/gate.ts";
import { LiveState, type LiveChange } from "./live-state.ts";
import { EntryBuffer } from "./entry-buffer.ts";
import { PromiseCache } from "../../util/promise-cache.ts";
import { BroadcastGroup } from "./broadcast-group.ts";
import { CatchUpReader } from "./catch-up-reader.ts";
import { patiently } from "./retry-while-unavailable.ts";
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

export interface FeedListener {
  /** An entry, and the position right before it. */
  onEntry(entry: LogEntry, before: Position): void;
  /** The feed began anew: what was between may have been missed. */
  onReset(): void;
  onEnd(reason: SubscriptionEndReason): void;
}

const HELD_BYTES = 128 * 1024;
/** For how long the same beginning, and the same page, is given to others. */
const SAME_MS = 250;
const ZERO: Position = { epoch: 0, seq: 0 };
/** Roughly, of what is shared between a state and the next. */
const STATE_BYTES = 1_000;

export class SessionFeed implements SubscriptionHost, LogFollower {
  readonly ref: SessionRef;
  readonly parts: FeedContext;
  readonly #addressOf: (blob: string) => string;
  readonly #over = new AbortController();
  readonly #seats = new Set<SubscriptionController>();
  readonly #watchers = new Set<FeedListener>();
  readonly #groups = new Map<string, BroadcastGroup>();
  /** Those who have seen more than the feed. */
  readonly #early = new Set<SubscriptionController>();
  readonly #opened = new Gate();
  readonly #states: StateIndex;
  readonly #past = new CatchUpReader(this);
  readonly #pages = new PromiseCache<ReplayPage>(SAME_MS);
  readonly #beginnings = new PromiseCache<InitialFrames>(SAME_MS);
  #held: EntryBuffer | null = null;
  /** At the head, while somebody needs it. */
  #state: LiveState | null = null;
  #lastAt: number | null = null;
  #isTidy = true;

  constructor(ref: SessionRef, parts: FeedContext) {
    this.ref = ref;
    this.parts = parts;
    this.#addressOf = parts.addressesOf(ref);
    this.#states = new StateIndex(parts, ref);
    this.#run();
  }

  get head(): Position {
    return this.#held?.head ?? ZERO;
  }

  /** Null while it doesn't follow the log. */
  get held(): EntryBuffer | null {
    return this.#held;
  }

  get isIdle(): boolean {
    return this.#seats.size === 0 && this.#watchers.size === 0;
  }

  /** It has ended, and follows nothing any more. */
  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  /** What it holds, roughly. */
  get bytes(): number {
    return (this.#held?.bytes ?? 0) + this.#states.size * STATE_BYTES;
  }

  /** The session where the feed stands, while somebody needs it. */
  get headState(): SessionState | null {
    return this.#state?.state ?? null;
  }

  /** When the last entries came, or it was opened, by `performance.now`. */
  get lastAt(): number | null {
    return this.#lastAt;
  }

  /** Once it follows the log. */
  ready(): Promise<void> {
    return this.#opened.wait();
  }

  subscribe(wish: SubscribeOptions, viewer: Subscriber): SubscriptionController {
    const seat = new SubscriptionController(
      this,
      wish,
      createEncodingTarget(wish.format, this.ref.session, this.#addressOf),
      viewer,
    );
    this.#seats.add(seat);
    seat.start();
    return seat;
  }

  addListener(watcher: FeedListener): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  close(): void {
    this.#over.abort();
  }

  /** Drops what only a running turn needs, some time after the last word. */
  releaseMemory(now: number, afterMs: number): void {
    if (this.#isTidy) return;
    // While a turn runs too: they are of no use any more, and may be large.
    this.#pages.expire(now);
    this.#beginnings.expire(now);
    if (this.#lastAt === null || now - this.#lastAt < afterMs) return;
    // A turn that is silent goes on: who comes back then must not fold it from its beginning.
    const { headState } = this;
    if (headState?.turns.last()?.status === "running") return;
    this.clearCaches();
    if (headState !== null) this.#state = this.#headState(this.#states.slim(headState));
    this.#isTidy = true;
  }

  /** Drops what can be read again. */
  clearCaches(): void {
    this.#held?.clear();
    this.#states.clear();
    this.#pages.clear();
    this.#beginnings.clear();
  }

  // ---- what seats ask for

  begin(seat: SubscriptionController, ask: number, how: StartMode): void {
    void this.#answer(seat, async () => {
      // What it was given just now led nowhere. And whoever begins anew again and again must not keep everybody busy.
      if (how.type === "anew" && ++seat.restarts > 1) this.clearCaches();
      if (seat.restarts > 2) await this.parts.pause(Math.min(1_000, 20 * 2 ** seat.restarts));
      await this.#opened.wait();
      // Whoever has left, or asked again since, costs nothing more.
      if (!seat.isWaitingFor(ask)) return;
      const { telling, wish } = seat;
      const key = `${how.type} ${formatKey(telling.choice)}`;
      this.#isTidy = false;
      const shared = (make: () => Promise<InitialFrames>) =>
        this.#beginnings.get(key, performance.now(), make);
      const { standing, ...rest } = await resolveStart(this, telling, wish, how, shared);
      if (!seat.isWaitingFor(ask)) return;
      seat.standing = standing;
      seat.step({ type: "begun", ask, ...rest });
    });
  }

  read(seat: SubscriptionController, ask: number, after: Position): void {
    void this.#answer(seat, async () => {
      await this.#opened.wait();
      if (!seat.isWaitingFor(ask)) return;
      if (needsFoldedState(seat.telling.choice) && seat.standing === null) {
        const state = await this.stateAt(after);
        if (typeof state === "string") return seat.step({ type: "bad", ask });
        if (!seat.isWaitingFor(ask)) return;
        seat.standing = replayStateAt(seat.telling, state);
      }
      const entries = await this.#past.readAfterWithArchive(after);
      if (entries === null) return seat.step({ type: "bad", ask });
      const isOver = entries.length === 0 && (await this.#isOverFor(seat));
      if (!seat.isWaitingFor(ask)) return;
      if (entries.length === 0) return this.#stand(seat, ask, after, isOver);
      const { standing, ...page } = await this.#page(seat, after, entries);
      if (!seat.isWaitingFor(ask)) return;
      seat.standing = standing;
      seat.step({ type: "page", ask, ...page });
    });
  }

  leaveGroup(seat: SubscriptionController): void {
    const key = formatKey(seat.wish.format);
    const group = this.#groups.get(key);
    group?.subscribers.delete(seat);
    if (group?.subscribers.size !== 0) return;
    this.#groups.delete(key);
    if (![...this.#groups.values()].some(({ isFolded }) => isFolded)) this.#state = null;
  }

  leave(seat: SubscriptionController): void {
    this.#seats.delete(seat);
    this.#early.delete(seat);
    this.leaveGroup(seat);
  }

  failed(error: unknown): void {
    this.parts.onError(error, `viewer of ${this.ref.session}`);
  }

  /** Why a position can't be gone on from; null when it can. */
  async checkPosition(position: Position): Promise<InvalidCursorReason | null> {
    const entries = await this.#past.readAfter(position, 1);
    return typeof entries === "string" ? entries : null;
  }

  async isBuffered(position: Position): Promise<boolean> {
    if ((await this.checkPosition(position)) !== null) return false;
    return (this.#held?.entriesAfter(position, 1) ?? null) !== null;
  }

  readonly stateAt = async (position: Position): Promise<SessionState | InvalidCursorReason> => {
    const { headState } = this;
    if (headState !== null && comparePositions(headState, position) === 0) return headState;
    this.#isTidy = false;
    return this.#states.at(position, this.#held);
  };

  isTrimmedStateArchived(): Promise<boolean> {
    return this.#states.isDroppedKept();
  }

  lastTurn(): Promise<SessionState> {
    this.#isTidy = false;
    return this.#states.lastTurn(this.head, this.#held);
  }

  // ---- catching up

  async #answer(seat: SubscriptionController, work: () => Promise<void>): Promise<void> {
    try {
      await patiently(work, this.parts.pause, this.#over.signal);
    } catch (error) {
      const isGone = isStoreError(error, "NOT_FOUND");
      if (!isGone) this.parts.onError(error, `subscription to ${this.ref.session}`);
      seat.step({ type: "end", reason: isGone ? "gone" : "unavailable" });
    }
  }

  /** The same for everybody who stands at the same place and has chosen the same. */
  #page(
    { telling, wish, standing }: SubscriptionController,
    after: Position,
    entries: readonly LogEntry[],
  ): Promise<ReplayPage> {
    const isLast = (turn: string): boolean => endsWithTurn(wish, turn);
    const make = (): Promise<ReplayPage> =>
      this.parts.slices.run(() => {
        const page = buildReplayPage(telling, standing, entries, isLast);
        for (const entry of entries) entry.releaseParsed();
        return page;
      });
    if (wish.untilTurnEnd !== undefined || wish.untilIdle === true) return make();
    this.#isTidy = false;
    return this.#pages.get(`${formatKey(telling.choice)} ${formatCursor(after)}`, performance.now(), make);
  }

  /** There was nothing to read: it joins, unless something has come since, or the feed isn't there yet. */
  #stand(seat: SubscriptionController, ask: number, after: Position, isOver: boolean): void {
    if ((this.#held?.entriesAfter(after, 1)?.length ?? 0) > 0) return this.read(seat, ask, after);
    // Ahead of the feed; or the log ends before it, and the feed will notice that too.
    if (comparePositions(after, this.head) !== 0) {
      this.#early.add(seat);
      return seat.step({ type: "nothing", ask });
    }
    if (isOver) return seat.step({ type: "end", reason: "over" });
    this.#join(seat.telling, seat.standing).add(seat);
    seat.standing = null;
    seat.restarts = 0;
    seat.step({ type: "joined", ask });
  }

  /** The store knows of a turn whose beginning the log has lost: its next attempt will tell. */
  async #isOverFor({ wish, standing }: SubscriptionController): Promise<boolean> {
    if (wish.untilIdle !== true || standing?.state.turns.last()?.status === "running") return false;
    return (await this.parts.store.running.get(this.ref)) === null;
  }

  #join(telling: EncodingTarget, standing: ReplayState | null): Set<SubscriptionController> {
    if (standing !== null) this.#state ??= this.#headState(standing.state);
    const key = formatKey(telling.choice);
    const group = this.#groups.get(key) ?? new BroadcastGroup(telling, standing?.remembered ?? null);
    this.#groups.set(key, group);
    return group.subscribers;
  }

  #headState(state: SessionState): LiveState {
    return new LiveState(state, (before, event) => this.#states.fold(before, event));
  }

  // ---- following

  #run(): void {
    followLog(this.parts, this.ref, this, this.#over.signal)
      .then((reason) => reason !== null && this.#end(reason))
      .catch((error: unknown) => {
        this.parts.onError(error, `feed of ${this.ref.session}`);
        this.#end("unavailable");
      });
  }

  opened(at: Position, isAgain: boolean): void {
    this.#held = new EntryBuffer(at, HELD_BYTES);
    this.#lastAt ??= performance.now();
    this.#opened.open();
    if (!isAgain) return;
    for (const seat of this.#seats) seat.step({ type: "lost" });
    for (const watcher of this.#watchers) watcher.onReset();
  }

  onReset(): void {
    this.#opened.close();
    this.clearCaches();
    this.#state = null;
    this.#held = null;
  }

  #end(reason: SubscriptionEndReason): void {
    this.#over.abort();
    this.#opened.open();
    for (const seat of this.#seats) seat.step({ type: "end", reason });
    for (const watcher of this.#watchers) watcher.onEnd(reason);
  }

  /** A piece never reaches over the end of a turn: some leave right there. */
  entries(entries: readonly LogEntry[]): void {
    this.#lastAt = performance.now();
    this.#isTidy = false;
    const before = this.head;
    let from = 0;
    for (let n = 0; n < entries.length; n++) {
      const ended = endedTurn(entries[n] as LogEntry);
      const isLast = n === entries.length - 1;
      if (ended === null && !isLast) continue;
      this.#deliver(from === 0 && isLast ? entries : entries.slice(from, n + 1), ended);
      from = n + 1;
    }
    if (this.#watchers.size > 0) this.#show(entries, before);
  }

  #deliver(entries: readonly LogEntry[], ended: string | null): void {
    const { epoch, seq } = entries.at(-1) as LogEntry;
    const to = { epoch, seq };
    const steps = this.#step(entries);
    for (const group of this.#groups.values()) group.broadcast(entries, steps, to, ended);
    this.#held?.push(entries);
    if (this.#early.size === 0) return;
    const early = [...this.#early];
    this.#early.clear();
    for (const seat of early) seat.step({ type: "news" });
  }

  /** What the entries come to; empty when nobody needs to know. */
  #step(entries: readonly LogEntry[]): readonly LiveChange[] {
    if (this.#state === null) return [];
    let isPlain = true;
    for (const group of this.#groups.values()) isPlain &&= group.isPlain;
    return this.#state.take(entries, isPlain);
  }

  #show(entries: readonly LogEntry[], from: Position): void {
    let before = from;
    for (const entry of entries) {
      for (const watcher of this.#watchers) watcher.onEntry(entry, before);
      before = entry;
    }
  }
}
