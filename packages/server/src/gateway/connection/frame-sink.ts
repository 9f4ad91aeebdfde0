/**
 * The way out of one connection, as subscriptions see it: a bounded queue before a transport. Types only; the queue is in
 * queued-outlet.ts, the transports are in socket/ and sse/.
 */
import type { ErrorCode, Position } from "@turnstream/protocol";

/**
 * - `written`: the transport has it, and nothing waits before it;
 * - `queued`: it waits until the other side has read more;
 * - `dropped`: the queue was over its bound: whatever this one had queued is lost. Nothing of it is taken until it has heard
 *   `drained`.
 */
export type SendResult = "written" | "queued" | "dropped";

export interface FrameSink {
  /**
   * Takes whole frames only. The bytes are shared with other connections: nobody changes them.
   * @param from where the client stands before them, if it can go on from there
   */
  send(bytes: Uint8Array, from?: Position | null): SendResult;
  /** After `drained`: it is up to date, or over, and it is the next one's turn. A send says so too. */
  yieldTurn?(): void;
  /** Ends the connection from our side, after what is queued. */
  end(): void;
}

/** What the owner of a connection tells its subscriptions. */
export interface SinkEvents {
  /** Everything that was queued has been handed to the transport. */
  onFlush(): void;
  /** After it was dropped: the other side has read what the transport held, and it is this one's turn. */
  onDrain(): void;
  /** The connection is over. */
  onClose(): void;
}

/** One of several that share a connection, and its bound. */
export interface QueueMember extends Pick<SinkEvents, "onDrain"> {
  /**
   * What it had queued was dropped, maybe for the sake of others.
   * @param at where the client stands with what was handed over before; null when it is to be told that it was slow
   */
  onEvicted?(at: Position | null): void;
}

/** The same for one who has the connection to himself. */
export interface StreamEvents extends SinkEvents {
  /** About once a second, with the time by `performance.now`. */
  onHeartbeat(now: number): void;
  /** Tells the other side why, in words that it knows, and ends the outlet. */
  fail(why: ErrorCode): void;
  /** This process is going down, and they know when to come back. Says what a dialect needs before an end, and ends. */
  onShutdown(): void;
}
