/**
 * `FrameSink` is the sending side of one connection for its subscriptions: a bounded queue in front of a transport.
 * `SinkEvents` and `QueueMember` are the calls back to them. Types only; send-queue.ts implements the queue, ws/ and
 * sse/ the transports.
 * Invariant: bytes are whole frames, shared with other connections, and never changed. After `dropped`, a subscription
 * sends nothing until `onDrain`, because the sink would drop that too.
 */
import type { ErrorCode, Position } from "@turnstream/protocol";

/**
 * - `written`: the frame is in the transport, and nothing is queued in front of it.
 * - `queued`: the frame waits until the client has read more.
 * - `dropped`: the queue was full, and all queued frames of this subscription are lost. No further frames are accepted
 *   until `onDrain`.
 */
export type SendResult = "written" | "queued" | "dropped";

export interface FrameSink {
  /**
   * Accepts whole frames only. The bytes are shared with other connections and must not be changed.
   * @param from the client's position before these frames, if it can continue from there
   */
  send(bytes: Uint8Array, from?: Position | null): SendResult;
  /**
   * Ends this member's turn after `onDrain`, because it is up to date or closed, so that the next member can resume. A
   * send also ends the turn.
   */
  yieldTurn?(): void;
  /** Ends the connection after the queued frames. */
  end(): void;
}

/** Events that the owner of a connection reports to its subscriptions. */
export interface SinkEvents {
  /** All queued frames have been written to the transport. */
  onFlush(): void;
  /** After a drop: the transport's buffer is empty, and this subscription may send again. */
  onDrain(): void;
  /** The connection is closed. */
  onClose(): void;
}

/** One of several subscriptions that share a connection and its limit. */
export interface QueueMember extends Pick<SinkEvents, "onDrain"> {
  /**
   * The queued frames of this member were dropped, possibly in favor of others.
   * @param position the client's position after the frames that were written; null if this member is slow itself
   */
  onEvicted?(position: Position | null): void;
}

/** Events for a stream that uses the connection alone. */
export interface StreamEvents extends SinkEvents {
  /** Called once per `heartbeatMs`, with the time of `performance.now`. */
  onHeartbeat(now: number): void;
  /** Sends an error in the client's dialect and ends the sink. */
  fail(code: ErrorCode): void;
  /**
   * This process is shutting down, and the client already knows when to reconnect. Sends the dialect's final frames and
   * ends.
   */
  onShutdown(): void;
}
