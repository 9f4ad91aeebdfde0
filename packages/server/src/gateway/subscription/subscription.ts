/** A subscription as its two sides see it: what a subscriber asks for and gets, and what it reports back. Types only. */
import type { Cursor } from "@turnstream/protocol";
import type { FrameSink, QueueMember, SinkEvents } from "../connection/frame-sink.ts";
import type { StreamFormat } from "../encoding/stream-format.ts";

/** How a subscription started, or restarted: the fields of `subscribed` on the wire. */
export interface SubscribedInfo {
  readonly resumed: boolean;
  readonly reason: "fresh" | "cursor" | "expired" | "invalid" | "slow";
  /** Of `native`: what is there already reaches to here, so that the client knows when it sees things as they happen. */
  readonly head?: Cursor;
}

/** `gone`: the session was deleted. `unavailable`: the log could not be reached for too long. `complete`: `until…` has come. */
export type SubscriptionEndReason = "gone" | "unavailable" | "complete";

export interface Subscriber {
  readonly sink: FrameSink;
  /** Comes before the first frame, and before the first one after every resync. May write to the sink. */
  onSubscribed(info: SubscribedInfo): void;
  /** The last call. */
  onEnd(reason: SubscriptionEndReason): void;
}

export interface SubscribeOptions {
  readonly format: StreamFormat;
  /** The last event that the client has received, as it sent it; null for a new client. */
  readonly after: string | null;
  /** Ends right after the last frame of this turn. */
  readonly untilTurnEnd?: string;
  /** Ends right after the next end of a turn; at once, when it has caught up, while none runs. */
  readonly untilIdle?: boolean;
}

export interface Subscription extends SinkEvents, QueueMember {
  /** The last position that the sink was given. */
  readonly cursor: Cursor;
}
