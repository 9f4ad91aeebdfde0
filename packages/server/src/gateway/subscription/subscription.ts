/**
 * `Subscription`, `Subscriber` and `SubscribeOptions` are the contract between a connection and a session feed. Types
 * only.
 * Invariant: `onSubscribed` precedes the first frame of every start, unless the client continues without a gap.
 * `onEnd` is the last call and does not follow `onClose`. The connection passes on every event of its sink. `after` is
 * unchecked.
 */
import type { Cursor } from "@turnstream/protocol";
import type { FrameSink, QueueMember, SinkEvents } from "../connection/frame-sink.ts";
import type { StreamFormat } from "../encoding/stream-format.ts";

/** How a subscription started or restarted: the fields of the `subscribed` frame. */
export interface SubscribedInfo {
  readonly resumed: boolean;
  readonly reason: "fresh" | "cursor" | "expired" | "invalid" | "slow";
  /** `native` only: the position of the log when the subscription started. A client that has reached it is live. */
  readonly head?: Cursor;
}

/**
 * In this order: the session was deleted, the log was unavailable for too long, or the end that `until…` defines was
 * reached.
 */
export type SubscriptionEndReason = "gone" | "unavailable" | "complete";

/**
 * Why a session doesn't progress: the worker of its turn was lost and another one will continue, or no worker runs at
 * all. These are the fields of the frame, except `session_id`.
 */
export type StalledFrame =
  | { readonly type: "resuming"; readonly turn_id: string }
  | { readonly type: "no_worker" };

export interface Subscriber {
  readonly sink: FrameSink;
  /** Called before the first frame, and before the first frame after every resync. May write to the sink. */
  onSubscribed(info: SubscribedInfo): void;
  /** `native` only: the session doesn't progress. The next frame ends this state. May write to the sink. */
  onStalled?(frame: StalledFrame): void;
  /** The last call. */
  onEnd(reason: SubscriptionEndReason): void;
}

export interface SubscribeOptions {
  readonly format: StreamFormat;
  /** Cursor of the last event that the client received, unchecked; null for a new client. */
  readonly after: string | null;
  /** Ends directly after the last frame of this turn. */
  readonly untilTurnEnd?: string;
  /** Ends directly after the end of the next turn. If no turn runs, ends as soon as the subscription has caught up. */
  readonly untilIdle?: boolean;
}

export interface Subscription extends SinkEvents, QueueMember {
  /** The position of the last frame that the sink received. */
  readonly cursor: Cursor;
}
