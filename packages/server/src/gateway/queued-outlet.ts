/**
 * The bounded queue before the transport of one connection. Holds references to shared bytes and never copies any. Never
 * knows what a transport is made of, and has no timer: who owns the connection tells it that the transport has drained, and
 * asks whether it is stalled.
 */
import type { Outlet, OutletEvents, Sent } from "./outlet.ts";

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
  /** It outlives a drop of the queue. */
  readonly isKept: boolean;
}

/** What may be kept through drops. Who lets more answers pile up isn't reading them. */
const MAX_KEPT_BYTES = 64 * 1024;
/** Of every connection that nothing waits for, so that an idle one holds no list. */
const NOTHING: readonly Waiting[] = [];

export class QueuedOutlet implements Outlet {
  readonly #transport: Transport;
  readonly #events: OutletEvents;
  readonly #maxBytes: number;
  #waiting: readonly Waiting[] = NOTHING;
  #waitingBytes = 0;
  #keptBytes = 0;
  /** Since when the transport takes nothing; null while it does. */
  #blockedSince: number | null = null;
  #isDropping = false;
  #isEnding = false;
  #isOver = false;

  constructor(transport: Transport, events: OutletEvents, maxBytes: number) {
    this.#transport = transport;
    this.#events = events;
    this.#maxBytes = maxBytes;
  }

  /** What this connection makes us hold, in bytes: queued here, and in its transport. */
  get held(): number {
    return this.#waitingBytes + this.#transport.held;
  }

  send(bytes: Uint8Array): Sent {
    if (this.#isOver || this.#isEnding || this.#isDropping) return "dropped";
    if (this.#isFree()) return this.#write(bytes);
    if (this.#waitingBytes + bytes.byteLength > this.#maxBytes) {
      this.#drop();
      return "dropped";
    }
    this.#wait(bytes, false);
    return "queued";
  }

  /**
   * For answers to commands, which nobody would say again: they outlive a drop. A connection that lets too many of them pile
   * up is destroyed.
   */
  sendKept(bytes: Uint8Array): void {
    if (this.#isOver || this.#isEnding) return;
    if (this.#isFree()) {
      this.#write(bytes);
      return;
    }
    this.#keptBytes += bytes.byteLength;
    if (this.#keptBytes > MAX_KEPT_BYTES) this.destroy();
    else this.#wait(bytes, true);
  }

  /** For what is only worth saying when nothing else is said. */
  sendIfFree(bytes: Uint8Array): void {
    if (!this.#isOver && !this.#isEnding && this.#isFree()) this.#write(bytes);
  }

  end(): void {
    if (this.#isOver || this.#isEnding) return;
    this.#isEnding = true;
    if (this.#waiting.length === 0) this.#finish();
  }

  destroy(): void {
    this.over();
    this.#transport.destroy();
  }

  /** The owner says that the transport takes something again. */
  transportDrained(): void {
    if (this.#isOver || this.#blockedSince === null) return;
    this.#blockedSince = null;
    const had = this.#waiting.length > 0;
    this.#flush();
    if (this.#waiting.length > 0) return;
    if (this.#isEnding) this.#finish();
    else if (this.#isDropping) {
      // What was kept may have filled the transport again.
      if (!this.#isFree()) return;
      this.#isDropping = false;
      this.#events.drained();
    } else if (had) this.#events.flushed();
  }

  /** The owner says that the connection is over; nothing is taken or held from now on. */
  over(): void {
    this.#isOver = true;
    this.#waiting = NOTHING;
    this.#waitingBytes = 0;
  }

  isStalled(now: number, stalledMs: number): boolean {
    return this.#blockedSince !== null && now - this.#blockedSince >= stalledMs;
  }

  #isFree(): boolean {
    return this.#blockedSince === null && this.#waiting.length === 0;
  }

  #write(bytes: Uint8Array): Sent {
    if (!this.#transport.write(bytes)) this.#blockedSince = performance.now();
    return "written";
  }

  #wait(bytes: Uint8Array, isKept: boolean): void {
    if (this.#waiting === NOTHING) this.#waiting = [];
    (this.#waiting as Waiting[]).push({ bytes, isKept });
    this.#waitingBytes += bytes.byteLength;
  }

  #flush(): void {
    const waiting = this.#waiting;
    let next = 0;
    for (; next < waiting.length && this.#blockedSince === null; next++) {
      const { bytes, isKept } = waiting[next] as Waiting;
      this.#waitingBytes -= bytes.byteLength;
      if (isKept) this.#keptBytes -= bytes.byteLength;
      this.#write(bytes);
    }
    this.#waiting = next === waiting.length ? NOTHING : waiting.slice(next);
  }

  #drop(): void {
    this.#isDropping = true;
    const kept = this.#waiting.filter(({ isKept }) => isKept);
    this.#waiting = kept.length === 0 ? NOTHING : kept;
    this.#waitingBytes = this.#keptBytes;
  }

  #finish(): void {
    this.#isOver = true;
    this.#transport.end();
  }
}
