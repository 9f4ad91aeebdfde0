/**
 * `SendQueue` is the bounded queue before the transport of one connection, which several subscriptions may share. Keeps
 * references to shared bytes and never copies any. Knows no kind of transport, and has no timer: the owner of the
 * connection reports that the transport has drained, and asks whether it is stalled.
 */
import type { Position } from "@turnstream/protocol";
import type { QueueMember, FrameSink, SinkEvents, SendResult } from "./frame-sink.ts";

export interface Transport {
  /** Takes all of it. False when its buffer is full; it reports when it has drained. */
  write(bytes: Uint8Array): boolean;
  /** How much it buffers that the other side has not taken, in bytes. */
  readonly bufferedBytes: number;
  /** Ends it, after what it buffers. */
  end(): void;
  /** Ends it now. */
  destroy(): void;
}

interface QueuedFrame {
  readonly bytes: Uint8Array;
  /** Which subscription it is for; null for replies, which are never dropped. */
  readonly member: QueueMember | null;
  /** The client's position before it. */
  readonly from: Position | null;
  /** How much of it counts for the bound. */
  readonly countedBytes: number;
}

/** Bound of the replies that wait. A client with more isn't reading them. */
const MAX_RELIABLE_BYTES = 64 * 1024;
/** A member with more than this share of the bound is slow; one with less is evicted for the sake of others. */
const SLOW_SHARE = 0.5;
/** Shared by all empty queues, so that an idle connection needs no list. */
const EMPTY: readonly QueuedFrame[] = [];

export class SendQueue implements FrameSink {
  readonly #transport: Transport;
  readonly #events: SinkEvents;
  readonly #maxBytes: number;
  #queue: readonly QueuedFrame[] = EMPTY;
  #queuedBytes = 0;
  #reliableBytes = 0;
  /** How much is queued for each member; null while nothing is. */
  #backlogs: BacklogTracker<QueueMember> | null = null;
  /** Members that were dropped, until they resume; null while there are none. */
  #resumeQueue: ResumeQueue<QueueMember> | null = null;
  /** Since when the transport takes nothing; null while it does. */
  #blockedSince: number | null = null;
  #isEnding = false;
  #isClosed = false;

  constructor(transport: Transport, events: SinkEvents, maxBytes: number) {
    this.#transport = transport;
    this.#events = events;
    this.#maxBytes = maxBytes;
  }

  /** What this process buffers for the connection, in bytes: queued here, and in its transport. */
  get bufferedBytes(): number {
    return this.#queuedBytes + this.#transport.bufferedBytes;
  }

  /** For a stream that has the connection to itself. */
  send(bytes: Uint8Array): SendResult {
    return this.#send(bytes, this.#events, null);
  }

  /** For one of several. Over the bound, the member with the largest backlog is dropped. */
  sendFor(member: QueueMember, bytes: Uint8Array, from: Position | null): SendResult {
    return this.#send(bytes, member, from);
  }

  /** It was its turn, or it waits for it, and it needs nothing any more. */
  yieldFor(member: QueueMember): void {
    if (this.#resumeQueue?.remove(member) === true) this.#resumeNext();
  }

  /**
   * For replies to commands, which are sent only once: they are never dropped. A connection with too many of them waiting
   * is destroyed.
   */
  sendReliable(bytes: Uint8Array): void {
    if (this.#isClosed || this.#isEnding) return;
    if (this.#isIdle()) {
      this.#write(bytes);
      return;
    }
    this.#reliableBytes += bytes.byteLength;
    if (this.#reliableBytes > MAX_RELIABLE_BYTES) this.destroy();
    else this.#enqueue({ bytes, member: null, from: null, countedBytes: bytes.byteLength });
  }

  /** For what is only worth sending when nothing else is sent. */
  sendIfIdle(bytes: Uint8Array): void {
    if (!this.#isClosed && !this.#isEnding && this.#isIdle()) this.#write(bytes);
  }

  end(): void {
    if (this.#isClosed || this.#isEnding) return;
    this.#isEnding = true;
    if (this.#queue.length === 0) this.#finish();
  }

  destroy(): void {
    this.markClosed();
    this.#transport.destroy();
  }

  /** The owner reports that the transport takes something again. */
  transportDrained(): void {
    if (this.#isClosed || this.#blockedSince === null) return;
    this.#blockedSince = null;
    const hadBacklog = this.#backlogs?.isEmpty === false;
    this.#flush();
    if (this.#queue.length > 0) return;
    this.#backlogs = null;
    if (this.#isEnding) this.#finish();
    else {
      if (hadBacklog) this.#events.onFlush();
      this.#resumeNext();
    }
  }

  /** The owner reports that the connection is closed; nothing is taken or queued from now on. */
  markClosed(): void {
    this.#isClosed = true;
    this.#queue = EMPTY;
    this.#queuedBytes = 0;
    this.#backlogs = null;
    this.#resumeQueue = null;
  }

  isStalled(now: number, stalledMs: number): boolean {
    return this.#blockedSince !== null && now - this.#blockedSince >= stalledMs;
  }

  #isIdle(): boolean {
    return this.#blockedSince === null && this.#queue.length === 0;
  }

  #send(bytes: Uint8Array, member: QueueMember, from: Position | null): SendResult {
    if (this.#isClosed || this.#isEnding || this.#resumeQueue?.isWaiting(member) === true) return "dropped";
    if (this.#isIdle()) {
      this.#write(bytes);
      if (this.#resumeQueue?.remove(member) === true) this.#resumeNext();
      return "written";
    }
    // The member whose turn it is gets through, once: something larger than the queue never would.
    const isItsTurn = this.#resumeQueue?.remove(member) === true;
    if (!isItsTurn && !this.#evictUntilFits(bytes.byteLength, member, from)) return "dropped";
    this.#enqueue({ bytes, member, from, countedBytes: isItsTurn ? 0 : bytes.byteLength });
    return "queued";
  }

  /** @returns false when the sender itself was dropped */
  #evictUntilFits(size: number, sender: QueueMember, from: Position | null): boolean {
    while ((this.#backlogs?.totalBytes ?? 0) + size > this.#maxBytes) {
      const { member, bytes } = this.#backlogs?.largest(sender, size) ?? { member: sender, bytes: size };
      const first = this.#drop(member);
      const position = first === undefined ? from : first.from;
      member.onEvicted?.(bytes > this.#maxBytes * SLOW_SHARE ? null : position);
      if (member === sender) return false;
    }
    return true;
  }

  #write(bytes: Uint8Array): void {
    if (!this.#transport.write(bytes)) this.#blockedSince = performance.now();
  }

  #enqueue(frame: QueuedFrame): void {
    if (this.#queue === EMPTY) this.#queue = [];
    (this.#queue as QueuedFrame[]).push(frame);
    this.#queuedBytes += frame.bytes.byteLength;
    this.#backlogs ??= new BacklogTracker();
    this.#backlogs.add(frame.member, frame.countedBytes);
  }

  #flush(): void {
    const queue = this.#queue;
    let next = 0;
    for (; next < queue.length && this.#blockedSince === null; next++) {
      const { bytes, member, countedBytes } = queue[next] as QueuedFrame;
      this.#queuedBytes -= bytes.byteLength;
      if (member === null) this.#reliableBytes -= bytes.byteLength;
      this.#backlogs?.add(member, -countedBytes);
      this.#write(bytes);
    }
    this.#queue = next === queue.length ? EMPTY : queue.slice(next);
  }

  /** Drops all that is queued for a member. @returns the first of it */
  #drop(member: QueueMember): QueuedFrame | undefined {
    const first = this.#queue.find((frame) => frame.member === member);
    if (first !== undefined) {
      const remaining = this.#queue.filter((frame) => frame.member !== member);
      this.#queue = remaining.length === 0 ? EMPTY : remaining;
      this.#queuedBytes = 0;
      for (const { bytes } of remaining) this.#queuedBytes += bytes.byteLength;
    }
    this.#backlogs?.delete(member);
    this.#resumeQueue ??= new ResumeQueue();
    this.#resumeQueue.add(member);
    return first;
  }

  /** Resumes the next member that was dropped, once the queue is empty. */
  #resumeNext(): void {
    if (this.#resumeQueue === null || this.#isClosed || this.#isEnding || !this.#isIdle()) return;
    const next = this.#resumeQueue.next();
    if (next !== null) next.onDrain();
    else if (this.#resumeQueue.isEmpty) this.#resumeQueue = null;
  }

  #finish(): void {
    this.#isClosed = true;
    this.#transport.end();
  }
}

/** Counts what is queued for each member, in bytes, and finds the largest backlog. Pure but for its own counts. */
export class BacklogTracker<T> {
  readonly #byMember = new Map<T, number>();
  #totalBytes = 0;

  /** Of all members, and of replies. */
  get totalBytes(): number {
    return this.#totalBytes;
  }

  get isEmpty(): boolean {
    return this.#byMember.size === 0;
  }

  /** @param member null for replies, which belong to none and are never dropped */
  add(member: T | null, bytes: number): void {
    this.#totalBytes += bytes;
    if (member !== null) this.#byMember.set(member, (this.#byMember.get(member) ?? 0) + bytes);
  }

  /** All of a member's. */
  delete(member: T): void {
    this.#totalBytes -= this.#byMember.get(member) ?? 0;
    this.#byMember.delete(member);
  }

  /** The member with the most, if `sender` gets so much more; the sender, where others have as much. */
  largest(sender: T, addedBytes: number): { readonly member: T; readonly bytes: number } {
    let [member, bytes] = [sender, (this.#byMember.get(sender) ?? 0) + addedBytes];
    for (const [other, otherBytes] of this.#byMember)
      if (otherBytes > bytes) [member, bytes] = [other, otherBytes];
    return { member, bytes };
  }
}

/**
 * Members that were dropped from a connection's queue, in the order in which they resume: one at a time, because all of
 * them at once would fill it again. Never calls a member itself.
 */
export class ResumeQueue<T> {
  readonly #queue = new Set<T>();
  #current: T | null = null;

  get isEmpty(): boolean {
    return this.#queue.size === 0 && this.#current === null;
  }

  isWaiting(member: T): boolean {
    return this.#queue.has(member);
  }

  add(member: T): void {
    this.#queue.add(member);
    if (this.#current === member) this.#current = null;
  }

  /** The member whose turn it is now; null while it is another's, and when none waits. */
  next(): T | null {
    if (this.#current !== null) return null;
    const [first] = this.#queue;
    if (first === undefined) return null;
    this.#queue.delete(first);
    this.#current = first;
    return first;
  }

  /** @returns whether it was its turn */
  remove(member: T): boolean {
    this.#queue.delete(member);
    if (this.#current !== member) return false;
    this.#current = null;
    return true;
  }
}
