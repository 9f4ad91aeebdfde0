/**
 * One session that somebody in this process looks at: follows its log once, for all its viewers. What comes is folded once,
 * encoded once for each choice, and given to everybody who is live; who catches up reads for itself and joins when it stands
 * where the feed stands. Nobody who catches up, and nobody who is slow, holds it up.
 */
import {
  comparePositions,
  emptyState,
  fold,
  formatCursor,
  parseCursor,
  type Position,
  type SessionState,
} from "@turnstream/protocol";
import type { LogEntry } from "../log/entry.ts";
import type { BadCursorReason, EndReason } from "../log/log.ts";
import { foldFrom } from "../session/fold-from.ts";
import { isStoreError } from "../store/errors.ts";
import type { Ref } from "../store/refs.ts";
import { beginAs } from "./beginnings.ts";
import { type Choice, keyOf } from "./choice.ts";
import {
  attachEncoder,
  bytesOfEntries,
  bytesOfFrames,
  framesOfEvent,
  needsState,
  type Remembered,
  type Telling,
} from "./encoding.ts";
import type { FeedParts } from "./feed-parts.ts";
import type { SubscriptionEnd, SubscriptionWish, Viewer } from "./feeds.ts";
import { Gate } from "./gate.ts";
import { Held } from "./held.ts";
import { patiently } from "./patiently.ts";
import { endOf, PAGE_ENTRIES, replayPage, standingAt } from "./replay.ts";
import { endsWith, Seat, type SeatOwner } from "./seat.ts";
import type { Beginning } from "./subscription.ts";

/** Everybody who is live with one choice. */
interface Group {
  readonly telling: Telling;
  remembered: Remembered;
  readonly seats: Set<Seat>;
}

export interface Watcher {
  /** An entry, and the position right before it. */
  seen(entry: LogEntry, before: Position): void;
  /** The feed began anew: what was between may have been missed. */
  lost(): void;
  ended(reason: SubscriptionEnd): void;
}

const HELD_BYTES = 512 * 1024;
const MAX_PAUSE_MS = 1_000;

export class Feed implements SeatOwner {
  readonly ref: Ref;
  readonly parts: FeedParts;
  readonly #addressOf: (blob: string) => string;
  readonly #over = new AbortController();
  readonly #seats = new Set<Seat>();
  readonly #watchers = new Set<Watcher>();
  readonly #groups = new Map<string, Group>();
  /** Those who have seen more than the feed. */
  readonly #early = new Set<Seat>();
  #held: Held | null = null;
  /** At the head, while somebody needs it. */
  #state: SessionState | null = null;
  readonly #opened = new Gate();
  #lastAt: number | null = null;

  constructor(ref: Ref, parts: FeedParts) {
    this.ref = ref;
    this.parts = parts;
    this.#addressOf = parts.addressesOf(ref);
    void this.#run();
  }

  get head(): Position {
    return this.#held?.head ?? { epoch: 0, seq: 0 };
  }

  get isIdle(): boolean {
    return this.#seats.size === 0 && this.#watchers.size === 0;
  }

  get bytes(): number {
    return this.#held?.bytes ?? 0;
  }

  subscribe(wish: SubscriptionWish, viewer: Viewer): Seat {
    const telling = { choice: wish.choice, session: this.ref.session, addressOf: this.#addressOf };
    const seat = new Seat(this, wish, telling, viewer);
    this.#seats.add(seat);
    seat.start();
    return seat;
  }

  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  close(): void {
    this.#over.abort();
  }

  // ---- what seats ask for

  begin(seat: Seat, ask: number, how: Beginning): void {
    void this.#answer(seat, async () => {
      await this.#opened.passed();
      const { standing, ...begun } = await beginAs(this, seat.telling, seat.wish, how);
      seat.standing = standing;
      seat.step({ type: "begun", ask, ...begun });
    });
  }

  read(seat: Seat, ask: number, after: Position): void {
    void this.#answer(seat, async () => {
      await this.#opened.passed();
      const isFolded = needsState(seat.telling.choice);
      if (isFolded && seat.standing === null) {
        const state = await this.#stateAt(after);
        if (typeof state === "string") return seat.step({ type: "bad", ask });
        seat.standing = standingAt(seat.telling, state);
      }
      const entries = await this.#entriesAfter(after);
      if (typeof entries === "string") return seat.step({ type: "bad", ask });
      await this.parts.slices.run(() => this.#give(seat, ask, after, entries));
    });
  }

  unjoin(seat: Seat): void {
    const key = keyOf(seat.wish.choice);
    const group = this.#groups.get(key);
    group?.seats.delete(seat);
    if (group?.seats.size === 0) this.#groups.delete(key);
  }

  leave(seat: Seat): void {
    this.#seats.delete(seat);
    this.#early.delete(seat);
    this.unjoin(seat);
  }

  /** Why a position can't be gone on from; null when it can. */
  async judge(position: Position): Promise<BadCursorReason | null> {
    const entries = await this.#entriesAfter(position, 1);
    return typeof entries === "string" ? entries : null;
  }

  /** Once it follows the log. */
  opened(): Promise<void> {
    return this.#opened.passed();
  }

  /** The session where the feed stands, while somebody needs it. */
  get known(): SessionState | null {
    return this.#state;
  }

  /** It has ended, and follows nothing any more. */
  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  /** When the last entries came, or it was opened, by `performance.now`. */
  get lastAt(): number | null {
    return this.#lastAt;
  }

  // ---- catching up

  async #answer(seat: Seat, work: () => Promise<void>): Promise<void> {
    try {
      await patiently(work, this.#over.signal);
    } catch (error) {
      const isGone = isStoreError(error, "NOT_FOUND");
      if (!isGone) this.parts.onError(error, `subscription to ${this.ref.session}`);
      seat.step({ type: "end", reason: isGone ? "gone" : "unavailable" });
    }
  }

  #give(seat: Seat, ask: number, after: Position, entries: readonly LogEntry[]): void {
    if (entries.length > 0) {
      const isLast = (turn: string): boolean => endsWith(seat.wish, turn);
      const { standing, ...page } = replayPage(seat.telling, seat.standing, entries, isLast);
      seat.standing = standing;
      return seat.step({ type: "page", ask, ...page });
    }
    // Something has come since it was looked.
    if (after.seq < this.head.seq) return this.read(seat, ask, after);
    if (comparePositions(after, this.head) !== 0) {
      this.#early.add(seat);
      return seat.step({ type: "nothing", ask });
    }
    const last = seat.standing?.state.turns.last();
    if (seat.wish.untilIdle === true && last?.status !== "running")
      return seat.step({ type: "end", reason: "over" });
    this.#join(seat);
    seat.step({ type: "joined", ask });
  }

  #join(seat: Seat): void {
    const { choice } = seat.telling;
    const state = seat.standing?.state;
    if (state !== undefined) this.#state ??= state;
    seat.standing = null;
    const key = keyOf(choice);
    const group = this.#groups.get(key) ?? { ...this.#newGroup(choice), telling: seat.telling };
    group.seats.add(seat);
    this.#groups.set(key, group);
  }

  #newGroup(choice: Choice): Omit<Group, "telling"> {
    const remembered = this.#state === null ? null : attachEncoder(choice, this.#state);
    return { remembered, seats: new Set() };
  }

  /** What the feed has seen after a position, a page at most; or what is wrong with the position. */
  async #entriesAfter(
    position: Position,
    limit = PAGE_ENTRIES,
  ): Promise<readonly LogEntry[] | BadCursorReason> {
    const held = this.#held?.after(position, limit) ?? null;
    if (held !== null) return held;
    const page = await this.parts.log.read(this.ref.session, { after: formatCursor(position), limit });
    if (page.ok) return page.entries.filter(({ seq }) => seq <= this.head.seq);
    if (page.reason !== "missing" && page.reason !== "ahead") return page.reason;
    // While there is no log, what is archived is a good place.
    const { archived } = await this.parts.store.archive.header(this.ref);
    return archived === formatCursor(position) ? [] : page.reason;
  }

  async #stateAt(position: Position): Promise<SessionState | BadCursorReason> {
    if (this.#state !== null && comparePositions(this.#state, position) === 0) return this.#state;
    return foldFrom(this.parts, this.ref, emptyState, { upTo: position, run: this.parts.slices.run });
  }

  // ---- following

  async #run(): Promise<void> {
    try {
      for (let pause = 0; !this.#over.signal.aborted; pause = Math.min(MAX_PAUSE_MS, pause * 2 + 10)) {
        if (pause > 10) await new Promise((resolve) => setTimeout(resolve, pause));
        const reason = await this.#follow(pause > 0);
        if (reason === "removed") return this.#end("gone");
        if (reason === "unavailable") return this.#end("unavailable");
        this.#state = null;
        this.#held = null;
      }
    } catch (error) {
      const isGone = isStoreError(error, "NOT_FOUND");
      if (!isGone) this.parts.onError(error, `feed of ${this.ref.session}`);
      this.#end(isGone ? "gone" : "unavailable");
    }
  }

  async #follow(isAgain: boolean): Promise<EndReason | null> {
    const { log } = this.parts;
    const { session } = this.ref;
    const { after, floor } = await patiently(() => this.#findEnd(isAgain), this.#over.signal);
    this.#held = new Held(parseCursor(after) ?? { epoch: 0, seq: 0 }, HELD_BYTES);
    this.#lastAt ??= performance.now();
    this.#opened.open();
    if (isAgain) for (const one of this.#seats) one.step({ type: "lost" });
    if (isAgain) for (const one of this.#watchers) one.lost();
    const signal = this.#over.signal;
    for await (const delivery of log.attach(session, { after, signal, ...floor })) {
      if (delivery.type === "end") {
        this.#opened.shut();
        return delivery.reason;
      }
      this.#take(delivery.entries);
    }
    return null;
  }

  /** Where the log ends; or what is archived, where there is no log or it ends before that. */
  async #findEnd(isAgain: boolean): Promise<{ after: string; floor: { floor?: string } }> {
    const head = await this.parts.log.head(this.ref.session);
    if (head !== null && !isAgain) return { after: head.last, floor: {} };
    const { archived } = await this.parts.store.archive.header(this.ref);
    const last = parseCursor(head?.last);
    const floor = parseCursor(archived);
    const isWhole = last !== null && floor !== null && last.seq >= floor.seq;
    return { after: isWhole ? (head?.last ?? archived) : archived, floor: { floor: archived } };
  }

  #end(reason: SubscriptionEnd): void {
    this.#over.abort();
    this.#opened.open();
    for (const seat of this.#seats) seat.step({ type: "end", reason });
    for (const watcher of this.#watchers) watcher.ended(reason);
  }

  /** A piece never reaches over the end of a turn: some leave right there. */
  #take(entries: readonly LogEntry[]): void {
    this.#lastAt = performance.now();
    const before = this.head;
    let from = 0;
    for (const [n, entry] of entries.entries()) {
      const ended = endOf(entry);
      if (ended === null && n < entries.length - 1) continue;
      this.#deliver(from === 0 && n === entries.length - 1 ? entries : entries.slice(from, n + 1), ended);
      from = n + 1;
    }
    this.#watch(entries, before);
  }

  #deliver(entries: readonly LogEntry[], ended: string | null): void {
    const { epoch, seq } = entries.at(-1) as LogEntry;
    const to = { epoch, seq };
    const states = this.#fold(entries);
    for (const group of this.#groups.values()) {
      const bytes = this.#encode(group, entries, states);
      for (const seat of group.seats) seat.piece(bytes, to, ended);
    }
    this.#held?.push(entries);
    if (states !== null) this.#state = states.at(-1) ?? null;
    if (this.#early.size === 0) return;
    const early = [...this.#early];
    this.#early.clear();
    for (const seat of early) seat.step({ type: "news" });
  }

  /** The states before, between and after; null when nobody needs them. */
  #fold(entries: readonly LogEntry[]): SessionState[] | null {
    const isNeeded = [...this.#groups.values()].some(({ telling }) => needsState(telling.choice));
    if (!isNeeded || this.#state === null) {
      this.#state = null;
      return null;
    }
    const states = [this.#state];
    for (const entry of entries) states.push(fold(states.at(-1) as SessionState, entry.event));
    return states;
  }

  #encode(group: Group, entries: readonly LogEntry[], states: readonly SessionState[] | null): Buffer | null {
    const { telling } = group;
    if (states === null || !needsState(telling.choice)) return bytesOfEntries(telling, entries);
    const frames: object[] = [];
    for (const [n, { event }] of entries.entries()) {
      const [before, after] = [states[n] as SessionState, states[n + 1] as SessionState];
      const encoded = framesOfEvent(telling.choice, group.remembered, event, before, after);
      group.remembered = encoded.remembered;
      for (const frame of encoded.frames) frames.push(frame);
    }
    return bytesOfFrames(telling, frames);
  }

  #watch(entries: readonly LogEntry[], from: Position): void {
    if (this.#watchers.size === 0) return;
    let before = from;
    for (const entry of entries) {
      for (const watcher of this.#watchers) watcher.seen(entry, before);
      before = entry;
    }
  }
}
