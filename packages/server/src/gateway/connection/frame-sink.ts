/**
 * `FrameSink` is the sending side of one connection, as subscriptions see it: a bounded queue before a transport. Types
 * only; the queue is in send-queue.ts, the transports are in ws/ and sse/.
 */
import type { ErrorCode, Position } from "@turnstream/protocol";

/**
 * - `written`: the transport has it, and nothing waits before it;
 * - `queued`: it waits until the other side has read more;
 * - `dropped`: the queue was over its bound: whatever this one had queued is lost. Nothing of it is taken until
 *   `onDrain`.
 */
export type SendResult = "written" | "queued" | "dropped";

export interface FrameSink {
  /**
   * Takes whole frames only. The bytes are shared with other connections: nobody changes them.
   * @param from the client's position before them, if it can continue from there
   */
  send(bytes: Uint8Array, from?: Position | null): SendResult;
  /** After `onDrain`: it is up to date, or closed, and it is the next member's turn. A send has the same effect. */
  yieldTurn?(): void;
  /** Ends the connection from our side, after what is queued. */
  end(): void;
}

/** What the owner of a connection reports to its subscriptions. */
export interface SinkEvents {
  /** Everything that was queued has been handed to the transport. */
  onFlush(): void;
  /** After it was dropped: the other side has read what the transport held, and it is this one's turn. */
  onDrain(): void;
  /** The connection is over. */
  onClose(): void;
}

/** One of several subscriptions that share a connection, and its bound. */
export interface QueueMember extends Pick<SinkEvents, "onDrain"> {
  /**
   * What it had queued was dropped, maybe for the sake of others.
   * @param position what the client has after what was handed over before; null when it counts as slow
   */
  onEvicted?(position: Position | null): void;
}

/** The same for a stream that has the connection to itself. */
export interface StreamEvents extends SinkEvents {
  /** About once a second, with the time by `performance.now`. */
  onHeartbeat(now: number): void;
  /** Sends the other side an error of its dialect, and ends the sink. */
  fail(code: ErrorCode): void;
  /** This process is shutting down, and the client knows when to reconnect. Sends what the dialect needs, and ends. */
  onShutdown(): void;
}
