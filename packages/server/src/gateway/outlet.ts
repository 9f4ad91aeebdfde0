/**
 * The way out of one connection, as subscriptions see it: a bounded queue before a transport. Types only; the queue is in
 * queued-outlet.ts, the transports are in socket/ and sse/.
 */
import type { ErrorWord } from "@turnstream/protocol";

/**
 * - `written`: the transport has it, and nothing waits before it;
 * - `queued`: it waits until the other side has read more;
 * - `dropped`: the queue was over its bound, and is empty now: whatever had been queued is lost to this client. Nothing is
 *   taken until it has drained.
 */
export type Sent = "written" | "queued" | "dropped";

export interface Outlet {
  /** Takes whole frames only. The bytes are shared with other connections: nobody changes them. */
  send(bytes: Uint8Array): Sent;
  /** Ends the connection from our side, after what is queued. */
  end(): void;
}

/**
 * What the owner of a connection tells its subscriptions. Several may share an outlet: one that had something queued, and
 * hears `drained` without `flushed`, has lost it, even if the send that was over the bound was another's.
 */
export interface OutletEvents {
  /** Everything that was queued has been handed to the transport. */
  flushed(): void;
  /** After `dropped`: the other side has read what the transport held, and takes something again. */
  drained(): void;
  /** The connection is over. */
  closed(): void;
}

/** The same for one who has the connection to himself. */
export interface StreamEvents extends OutletEvents {
  /** About once a second, with the time by `performance.now`. */
  beat(now: number): void;
  /** Tells the other side why, in words that it knows, and ends the outlet. */
  fail(why: ErrorWord): void;
  /** This process is going down, and they know when to come back. Says what a dialect needs before an end, and ends. */
  restarts(): void;
}
