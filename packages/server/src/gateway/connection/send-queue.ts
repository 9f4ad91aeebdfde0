/**
 * `SendQueue` buffers frames in front of the transport of one connection, which several subscriptions can share.
 * Invariant: frames leave in the order of their calls, and frames of subscriptions are queued only up to `maxBytes`.
 * At that limit the largest backlog is dropped as a whole. Replies (`sendReliable`) are never dropped: above 64 KiB of
 * them the connection is destroyed. Dropped members resume one at a time; the resuming one may exceed the limit once.
 * Bytes are shared and never copied. There is no timer: the owner reports that the transport drained or is stalled.
 */
import type { Position } from "@turnstream/protocol";
import type { QueueMember, FrameSink, SinkEvents, SendResult } from "./frame-sink.ts";

export interface Transport {
  /** Accepts all bytes. Returns false if its buffer is full; then it reports when it has drained. */
  write(bytes: Uint8Array): boolean;
  /** Bytes that it buffers and the client has not received. */
  readonly bufferedBytes: number;
  /** Ends the connection after the buffered bytes. */
  end(): void;
  /** Ends the connection immediately. */
  destroy(): void;
}

interface QueuedFrame {
  readonly bytes: Uint8Array;
  /** The subscription that the frame belongs to; null for replies, which are never dropped. */
  readonly member: QueueMember | null;
  /** The client's position before the frame. */
  readonly from: Position | null;
  /** Bytes that count toward the limit. */
  readonly countedBytes: number;
}

/** Limit for queued frames of subscriptions, besides the buffer of the transport. */
const SEND_QUEUE_BYTES = 512 * 1024;
/** Limit for queued replies. A client that exceeds it does not read its replies. */
const MAX_RELIABLE_BYTES = 64 * 1024;
/**
 * A member whose backlog exceeds this share of the limit counts as slow. A smaller one is evicted only in favor of
 * others.
 */
const SLOW_SHARE = 0.5;
/** Shared by all empty queues, so that an idle connection allocates no array. */
const EMPTY: readonly QueuedFrame[] = [];

export class SendQueue implements FrameSink {
  readonly #transport: Transport;
  readonly #events: SinkEvents;
  readonly #maxBytes: number;
  #queue: readonly QueuedFrame[] = EMPTY;
  #queuedBytes = 0;
  #reliableBytes = 0;
  /** Queued bytes per member; null while nothing is queued. */
  #backlogs: BacklogTracker<QueueMember> | null = null;
  /** Dropped members until they resume; null if there are none. */
  #resumeQueue: ResumeQueue<QueueMember> | null = null;
  /** When the transport's buffer became full; null while it accepts data. */
  #blockedSince: number | null = null;
  #isEnding = false;
  #isClosed = false;
  #writes = 0;

  constructor(transport: Transport, events: SinkEvents, maxBytes = SEND_QUEUE_BYTES) {
    this.#transport = transport;
    this.#events = events;
    this.#maxBytes = maxBytes;
  }

  /** Bytes that this process buffers for the connection, in this queue and in the transport. */
  get bufferedBytes(): number {
    return this.#queuedBytes + this.#transport.bufferedBytes;
  }

  /** Counts writes, so that a heartbeat can detect them without reading the clock at every write. */
  get writes(): number {
    return this.#writes;
  }

  /** Sends a frame of a stream that uses the connection alone. */
  send(bytes: Uint8Array): SendResult {
    return this.#send(bytes, this.#events, null);
  }

  /** Sends a frame of one of several members. At the limit, the member with the largest backlog is dropped. */
  sendFor(member: QueueMember, bytes: Uint8Array, from: Position | null): SendResult {
    return this.#send(bytes, member, from);
  }

  /** Ends the member's turn to resume, or removes it from the waiting ones, because it needs no more frames. */
  yieldFor(member: QueueMember): void {
    if (this.#resumeQueue?.remove(member) === true) this.#resumeNext();
  }

  /**
   * Sends a reply to a command. Replies are sent only once, so they are never dropped. If too many are queued, the
   * connection is destroyed.
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

  /** Sends bytes only if nothing else is queued, such as keep-alives. */
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

  /** Called by the owner when the transport accepts data again. */
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

  /** Called by the owner when the connection is closed. The queue accepts nothing afterwards. */
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
    // A member whose turn it is may exceed the limit once. Otherwise a frame larger than the limit could never be sent.
    const isItsTurn = this.#resumeQueue?.remove(member) === true;
    if (!isItsTurn && !this.#evictUntilFits(bytes.byteLength, member, from)) return "dropped";
    this.#enqueue({ bytes, member, from, countedBytes: isItsTurn ? 0 : bytes.byteLength });
    return "queued";
  }

  /** @returns false if the sender itself was dropped */
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
    this.#writes += 1;
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

  /**
   * Drops all queued frames of a member.
   * @returns the first dropped frame
   */
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

  /** Lets the next dropped member resume, if the queue is empty. */
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

/** `BacklogTracker` counts queued bytes per member and finds the largest backlog. */
export class BacklogTracker<T> {
  readonly #byMember = new Map<T, number>();
  #totalBytes = 0;

  /** Bytes of all members and of replies. */
  get totalBytes(): number {
    return this.#totalBytes;
  }

  get isEmpty(): boolean {
    return this.#byMember.size === 0;
  }

  /** @param member null for replies, which belong to no member */
  add(member: T | null, bytes: number): void {
    this.#totalBytes += bytes;
    if (member !== null) this.#byMember.set(member, (this.#byMember.get(member) ?? 0) + bytes);
  }

  /** Removes all bytes of a member. */
  delete(member: T): void {
    this.#totalBytes -= this.#byMember.get(member) ?? 0;
    this.#byMember.delete(member);
  }

  /**
   * Returns the member with the largest backlog if `addedBytes` are added to `sender`. If others have the same size,
   * returns the sender.
   */
  largest(sender: T, addedBytes: number): { readonly member: T; readonly bytes: number } {
    let [member, bytes] = [sender, (this.#byMember.get(sender) ?? 0) + addedBytes];
    for (const [other, otherBytes] of this.#byMember)
      if (otherBytes > bytes) [member, bytes] = [other, otherBytes];
    return { member, bytes };
  }
}

/**
 * `ResumeQueue` orders the dropped members of a connection. They resume one at a time, because all at once would fill
 * the queue again. Does not call the members.
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

  /** Returns the member that resumes now, or null if another one is resuming or none waits. */
  next(): T | null {
    if (this.#current !== null) return null;
    const [first] = this.#queue;
    if (first === undefined) return null;
    this.#queue.delete(first);
    this.#current = first;
    return first;
  }

  /** @returns true if it was the member's turn */
  remove(member: T): boolean {
    this.#queue.delete(member);
    if (this.#current !== member) return false;
    this.#current = null;
    return true;
  }
}
