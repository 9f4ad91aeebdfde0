/**
 * The bounded queue before the transport of one connection, which several may share. Holds references to shared bytes and
 * never copies any. Never knows what a transport is made of, and has no timer: who owns the connection tells it that the
 * transport has drained, and asks whether it is stalled.
 */
import type { Position } from "@turnstream/protocol";
import type { QueueMember, FrameSink, SinkEvents, SendResult } from "./frame-sink.ts";

export interface Transport {
  /** Takes all of it. False when it holds enough now, and will say when it has drained. */
  write(bytes: Uint8Array): boolean;
  /** How much it holds that the other side has not taken, in bytes. */
  readonly held: number;
  /** Ends it, after what it holds. */
  end(): void;
  /** Ends it now. */
  destroy(): void;
}

interface Waiting {
  readonly bytes: Uint8Array;
  /** Whose it is; null for what is nobody's, and outlives a drop. */
  readonly of: QueueMember | null;
  /** Where its client stands before it. */
  readonly from: Position | null;
  /** What of it counts for the bound. */
  readonly counts: number;
}

/** What may be kept through drops. Who lets more answers pile up isn't reading them. */
const MAX_KEPT_BYTES = 64 * 1024;
/** Who has more than this share of the bound waiting is slow; who has less gives way for the sake of others. */
const SLOW_SHARE = 0.5;
/** Of every connection that nothing waits for, so that an idle one holds no list. */
const NOTHING: readonly Waiting[] = [];

export class SendQueue implements FrameSink {
  readonly #transport: Transport;
  readonly #events: SinkEvents;
  readonly #maxBytes: number;
  #waiting: readonly Waiting[] = NOTHING;
  #waitingBytes = 0;
  #keptBytes = 0;
  /** Who has how much waiting; null while nothing does. */
  #backlogs: BacklogTracker<QueueMember> | null = null;
  /** Those that were dropped, until they are back; null while there are none. */
  #line: ResumeQueue<QueueMember> | null = null;
  /** Since when the transport takes nothing; null while it does. */
  #blockedSince: number | null = null;
  #isEnding = false;
  #isOver = false;

  constructor(transport: Transport, events: SinkEvents, maxBytes: number) {
    this.#transport = transport;
    this.#events = events;
    this.#maxBytes = maxBytes;
  }

  /** What this connection makes us hold, in bytes: queued here, and in its transport. */
  get bufferedBytes(): number {
    return this.#waitingBytes + this.#transport.held;
  }

  /** For one who has the connection to himself. */
  send(bytes: Uint8Array): SendResult {
    return this.#send(bytes, this.#events, null);
  }

  /** For one of several. Over the bound, whoever has the most waiting gives way. */
  sendFor(lane: QueueMember, bytes: Uint8Array, from: Position | null): SendResult {
    return this.#send(bytes, lane, from);
  }

  /** It was its turn, or it stands in the line, and it needs nothing any more. */
  yieldFor(lane: QueueMember): void {
    if (this.#line?.leave(lane) === true) this.#callNext();
  }

  /**
   * For answers to commands, which nobody would say again: they outlive a drop. A connection that lets too many of them pile
   * up is destroyed.
   */
  sendReliable(bytes: Uint8Array): void {
    if (this.#isOver || this.#isEnding) return;
    if (this.#isFree()) {
      this.#write(bytes);
      return;
    }
    this.#keptBytes += bytes.byteLength;
    if (this.#keptBytes > MAX_KEPT_BYTES) this.destroy();
    else this.#wait({ bytes, of: null, from: null, counts: bytes.byteLength });
  }

  /** For what is only worth saying when nothing else is said. */
  sendIfIdle(bytes: Uint8Array): void {
    if (!this.#isOver && !this.#isEnding && this.#isFree()) this.#write(bytes);
  }

  end(): void {
    if (this.#isOver || this.#isEnding) return;
    this.#isEnding = true;
    if (this.#waiting.length === 0) this.#finish();
  }

  destroy(): void {
    this.markClosed();
    this.#transport.destroy();
  }

  /** The owner says that the transport takes something again. */
  transportDrained(): void {
    if (this.#isOver || this.#blockedSince === null) return;
    this.#blockedSince = null;
    const had = this.#backlogs?.isEmpty === false;
    this.#flush();
    if (this.#waiting.length > 0) return;
    this.#backlogs = null;
    if (this.#isEnding) this.#finish();
    else {
      if (had) this.#events.onFlush();
      this.#callNext();
    }
  }

  /** The owner says that the connection is over; nothing is taken or held from now on. */
  markClosed(): void {
    this.#isOver = true;
    this.#waiting = NOTHING;
    this.#waitingBytes = 0;
    this.#backlogs = null;
    this.#line = null;
  }

  isStalled(now: number, stalledMs: number): boolean {
    return this.#blockedSince !== null && now - this.#blockedSince >= stalledMs;
  }

  #isFree(): boolean {
    return this.#blockedSince === null && this.#waiting.length === 0;
  }

  #send(bytes: Uint8Array, of: QueueMember, from: Position | null): SendResult {
    if (this.#isOver || this.#isEnding || this.#line?.waits(of) === true) return "dropped";
    if (this.#isFree()) {
      this.#write(bytes);
      if (this.#line?.leave(of) === true) this.#callNext();
      return "written";
    }
    // Whose turn it is gets through, once: something larger than the queue never would.
    const isCalled = this.#line?.leave(of) === true;
    if (!isCalled && !this.#makeRoom(bytes.byteLength, of, from)) return "dropped";
    this.#wait({ bytes, of, from, counts: isCalled ? 0 : bytes.byteLength });
    return "queued";
  }

  /** @returns false when it was the sender who gave way */
  #makeRoom(size: number, of: QueueMember, from: Position | null): boolean {
    while ((this.#backlogs?.totalBytes ?? 0) + size > this.#maxBytes) {
      const { who, bytes } = this.#backlogs?.largest(of, size) ?? { who: of, bytes: size };
      const first = this.#drop(who);
      const at = first === undefined ? from : first.from;
      who.onEvicted?.(bytes > this.#maxBytes * SLOW_SHARE ? null : at);
      if (who === of) return false;
    }
    return true;
  }

  #write(bytes: Uint8Array): void {
    if (!this.#transport.write(bytes)) this.#blockedSince = performance.now();
  }

  #wait(one: Waiting): void {
    if (this.#waiting === NOTHING) this.#waiting = [];
    (this.#waiting as Waiting[]).push(one);
    this.#waitingBytes += one.bytes.byteLength;
    this.#backlogs ??= new BacklogTracker();
    this.#backlogs.add(one.of, one.counts);
  }

  #flush(): void {
    const waiting = this.#waiting;
    let next = 0;
    for (; next < waiting.length && this.#blockedSince === null; next++) {
      const { bytes, of, counts } = waiting[next] as Waiting;
      this.#waitingBytes -= bytes.byteLength;
      if (of === null) this.#keptBytes -= bytes.byteLength;
      this.#backlogs?.add(of, -counts);
      this.#write(bytes);
    }
    this.#waiting = next === waiting.length ? NOTHING : waiting.slice(next);
  }

  /** All that one has waiting. @returns the first of it */
  #drop(who: QueueMember): Waiting | undefined {
    const first = this.#waiting.find(({ of }) => of === who);
    if (first !== undefined) {
      const kept = this.#waiting.filter(({ of }) => of !== who);
      this.#waiting = kept.length === 0 ? NOTHING : kept;
      this.#waitingBytes = 0;
      for (const { bytes } of kept) this.#waitingBytes += bytes.byteLength;
    }
    this.#backlogs?.delete(who);
    this.#line ??= new ResumeQueue();
    this.#line.add(who);
    return first;
  }

  /** The next of those who were dropped, once there is room for all that it has missed. */
  #callNext(): void {
    if (this.#line === null || this.#isOver || this.#isEnding || !this.#isFree()) return;
    const next = this.#line.next();
    if (next !== null) next.onDrain();
    else if (this.#line.isEmpty) this.#line = null;
  }

  #finish(): void {
    this.#isOver = true;
    this.#transport.end();
  }
}

/** What waits in one queue for each of those who share it, in bytes, and who has the most. Pure but for its own counts. */
export class BacklogTracker<T> {
  readonly #of = new Map<T, number>();
  #all = 0;

  /** Of everybody. */
  get totalBytes(): number {
    return this.#all;
  }

  get isEmpty(): boolean {
    return this.#of.size === 0;
  }

  /** @param of null for what is nobody's, and never gives way */
  add(of: T | null, bytes: number): void {
    this.#all += bytes;
    if (of !== null) this.#of.set(of, (this.#of.get(of) ?? 0) + bytes);
  }

  /** All of one's. */
  delete(of: T): void {
    this.#all -= this.#of.get(of) ?? 0;
    this.#of.delete(of);
  }

  /** Who has the most, if `sender` gets so much more; the sender, where others have as much. */
  largest(sender: T, more: number): { readonly who: T; readonly bytes: number } {
    let [who, bytes] = [sender, (this.#of.get(sender) ?? 0) + more];
    for (const [other, has] of this.#of) if (has > bytes) [who, bytes] = [other, has];
    return { who, bytes };
  }
}

/**
 * Those who were dropped from a connection's queue, in the order in which they come back: one at a time, for all of them
 * at once would fill it again. Never calls anybody itself.
 */
export class ResumeQueue<T> {
  readonly #waiting = new Set<T>();
  #called: T | null = null;

  get isEmpty(): boolean {
    return this.#waiting.size === 0 && this.#called === null;
  }

  waits(one: T): boolean {
    return this.#waiting.has(one);
  }

  add(one: T): void {
    this.#waiting.add(one);
    if (this.#called === one) this.#called = null;
  }

  /** Whose turn it is now; null while it is another's, and when nobody waits. */
  next(): T | null {
    if (this.#called !== null) return null;
    const [first] = this.#waiting;
    if (first === undefined) return null;
    this.#waiting.delete(first);
    this.#called = first;
    return first;
  }

  /** @returns whether it was its turn */
  leave(one: T): boolean {
    this.#waiting.delete(one);
    if (this.#called !== one) return false;
    this.#called = null;
    return true;
  }
}
