/**
 * The sessions that somebody in this process looks at. Types only; the shell is in open-feeds.ts.
 */
import type { Cursor } from "@turnstream/protocol";
import type { StreamFormat } from "../encoding/stream-format.ts";
import type { QueueMember, FrameSink, SinkEvents } from "../connection/frame-sink.ts";

/** How a subscription began, or began anew: the fields of `subscribed` on the wire. */
export interface SubscribedInfo {
  readonly resumed: boolean;
  readonly reason: "fresh" | "cursor" | "expired" | "invalid" | "slow";
  /** Of `native`: what is there already reaches to here, so that the viewer knows when it sees things as they happen. */
  readonly head?: Cursor;
}

/** `gone`: the session was deleted. `unavailable`: the log could not be reached for too long. `over`: `until` has come. */
export type SubscriptionEndReason = "gone" | "unavailable" | "over";

export interface Subscriber {
  readonly sink: FrameSink;
  /** Comes before the first frame, and before the first one after every resync. May write to the outlet. */
  onSubscribed(told: SubscribedInfo): void;
  /** The last call. */
  onEnd(reason: SubscriptionEndReason): void;
}

export interface SubscribeOptions {
  readonly format: StreamFormat;
  /** The last event that the viewer has seen, as they gave it; null for a new one. */
  readonly after: string | null;
  /** Ends right after the last frame of this turn. */
  readonly untilTurnEnd?: string;
  /** Ends right after the next end of a turn; at once, when it has caught up, while none runs. */
  readonly untilIdle?: boolean;
}

export interface Subscription extends SinkEvents, QueueMember {
  /** The last position that the outlet was given. */
  readonly position: Cursor;
}
