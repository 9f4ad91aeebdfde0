/**
 * `SocketSubscriber` is one subscription of a socket and a member of its send queue.
 * Invariant: the client is notified of every start, and of an end that it did not request. The request id is sent with
 * the first notice only, because a restart is not the answer to a request. Frames count toward this member's backlog;
 * notices are replies and never dropped.
 */
import type { Position } from "@turnstream/protocol";
import type { SocketReply } from "@turnstream/protocol/schema";
import type {
  Subscription,
  SubscriptionEndReason,
  StalledFrame,
  SubscribedInfo,
  Subscriber,
} from "../subscription/subscription.ts";
import type { QueueMember, FrameSink, SendResult } from "../connection/frame-sink.ts";
import type { SendQueue } from "../connection/send-queue.ts";
import { defined } from "../../util/defined.ts";

/** The part of a socket that a subscriber uses. */
export interface SocketHandle {
  readonly queue: SendQueue;
  reply(reply: SocketReply): void;
  /** Called when the subscription ended without a request of the client. */
  remove(subscriber: SocketSubscriber): void;
}

export class SocketSubscriber implements Subscriber, QueueMember, FrameSink {
  readonly session: string;
  /** Null until `subscribe` has returned. */
  subscription: Subscription | null = null;
  /** Counts the subscription as closed. */
  readonly release: () => void;
  readonly #connection: SocketHandle;
  /** Sent once, because a restart is not the answer to a request. */
  #requestId: string | undefined;

  constructor(
    connection: SocketHandle,
    { session, release }: { readonly session: string; readonly release: () => void },
    requestId: string | undefined,
  ) {
    this.#connection = connection;
    this.session = session;
    this.release = release;
    this.#requestId = requestId;
  }

  get sink(): FrameSink {
    return this;
  }

  send(bytes: Uint8Array, from: Position | null = null): SendResult {
    return this.#connection.queue.sendFor(this, bytes, from);
  }

  yieldTurn(): void {
    this.#connection.queue.yieldFor(this);
  }

  end(): void {
    this.#connection.queue.end();
  }

  onDrain(): void {
    this.subscription?.onDrain();
  }

  onEvicted(position: Position | null): void {
    this.subscription?.onEvicted?.(position);
  }

  onSubscribed(info: SubscribedInfo): void {
    this.#connection.reply({ type: "subscribed", ...this.#answer(), session_id: this.session, ...info });
  }

  onStalled(frame: StalledFrame): void {
    this.#connection.reply({ ...frame, session_id: this.session });
  }

  onEnd(reason: SubscriptionEndReason): void {
    this.#connection.remove(this);
    if (reason === "complete") return;
    this.#connection.reply({ type: "unsubscribed", ...this.#answer(), session_id: this.session, reason });
  }

  /** Returns the request id for the first notice. */
  #answer(): { readonly request_id?: string } {
    const request_id = this.#requestId;
    this.#requestId = undefined;
    return defined({ request_id });
  }
}
