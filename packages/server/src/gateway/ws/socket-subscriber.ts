/**
 * A session as a socket sees it: one of those who share its outlet. Tells the client how its subscription began, and when it
 * ends though nobody asked.
 */
import type { Position } from "@turnstream/protocol";
import type { SocketReply } from "@turnstream/protocol/schema";
import type {
  Subscription,
  SubscriptionEndReason,
  SubscribedInfo,
  Subscriber,
} from "../subscription/subscription.ts";
import type { QueueMember, FrameSink, SendResult } from "../connection/frame-sink.ts";
import type { SendQueue } from "../connection/send-queue.ts";

/** What a viewer needs of its socket. */
export interface SocketHandle {
  readonly outlet: SendQueue;
  reply(reply: SocketReply): void;
  /** It is over, and not by the client's wish. */
  forget(viewer: SocketSubscriber): void;
}

export class SocketSubscriber implements Subscriber, QueueMember, FrameSink {
  readonly session: string;
  /** Null while `subscribe` has not come back. */
  subscription: Subscription | null = null;
  readonly #side: SocketHandle;
  /** Told once: what begins anew later, begins by itself. */
  #request: string | undefined;

  constructor(side: SocketHandle, session: string, request: string | undefined) {
    this.#side = side;
    this.session = session;
    this.#request = request;
  }

  get sink(): FrameSink {
    return this;
  }

  send(bytes: Uint8Array, from: Position | null = null): SendResult {
    return this.#side.outlet.sendFor(this, bytes, from);
  }

  yieldTurn(): void {
    this.#side.outlet.yieldFor(this);
  }

  end(): void {
    this.#side.outlet.end();
  }

  onDrain(): void {
    this.subscription?.onDrain();
  }

  onEvicted(at: Position | null): void {
    this.subscription?.onEvicted?.(at);
  }

  onSubscribed(told: SubscribedInfo): void {
    const request = this.#request === undefined ? {} : { request_id: this.#request };
    this.#request = undefined;
    this.#side.reply({ type: "subscribed", ...request, session_id: this.session, ...told });
  }

  onEnd(reason: SubscriptionEndReason): void {
    this.#side.forget(this);
    if (reason === "over") return;
    const request = this.#request === undefined ? {} : { request_id: this.#request };
    this.#side.reply({ type: "unsubscribed", ...request, session_id: this.session, reason });
  }
}
