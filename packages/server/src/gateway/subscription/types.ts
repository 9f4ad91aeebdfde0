/**
 * The sessions that somebody in this process looks at. Types only; the shell is in open-feeds.ts.
 */
import type { Cursor, SessionState, Turn } from "@turnstream/protocol";
import type { SessionRef } from "../../store/refs.ts";
import type { StreamFormat } from "../encoding/stream-format.ts";
import type { QueueMember, FrameSink, SinkEvents } from "../connection/sink.ts";

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

export interface TurnStarted {
  readonly turn: string;
  /** The position right before its first event: subscribe after it. */
  readonly before: Cursor;
}

export interface TurnEnded {
  readonly turn: Turn;
  /** The session as it was then. */
  readonly state: SessionState;
}

export interface SessionFeeds {
  /** Who asks has been let in before: this looks at nothing but the session's id. */
  subscribe(ref: SessionRef, wish: SubscribeOptions, viewer: Subscriber): Subscription;
  /** The turn that answers a message, once it has begun. Throws what the signal says, and NOT_FOUND. */
  waitForTurnStart(ref: SessionRef, message: string, signal: AbortSignal): Promise<TurnStarted>;
  /** A turn once it is over. */
  waitForTurnEnd(ref: SessionRef, turn: string, signal: AbortSignal): Promise<TurnEnded>;
  /**
   * Since when a turn has run without a word, in milliseconds by `performance.now`; null while that is shorter than
   * `leastMs`, while none runs, or one waits for a person. For the rule of 180 seconds: asked again and again, it may find
   * out a little later.
   */
  idleSince(ref: SessionRef, leastMs: number): number | null;
  /** How many sessions are open, and what they hold in bytes, roughly. */
  stats(): { readonly sessions: number; readonly bytes: number };
  close(): Promise<void>;
}
