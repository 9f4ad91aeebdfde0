/**
 * A session on an event stream: finds where to begin, subscribes, says how it began, and ends with the right words. What
 * comes of the session itself is passed on as it is. Never decides who may look.
 */
import { ERRORS, type ErrorCode, formatSse, formatSseComment, toWireJson } from "@turnstream/protocol";
import { responsesToSse } from "@turnstream/protocol/responses";
import type { SessionRef } from "../../store/refs.ts";
import type { StreamFormat } from "../encoding/stream-format.ts";
import { toErrorResponse } from "../errors.ts";
import type {
  Subscription,
  SubscriptionEndReason,
  SubscribeOptions,
  SubscribedInfo,
  Subscriber,
} from "../subscription/subscription.ts";
import type { GatewayContext, StreamHandler } from "../context.ts";
import type { FrameSink, SendResult, StreamEvents } from "../connection/frame-sink.ts";
import { hasTimedOut } from "./idle-timeout.ts";
import { subscribeToTurn } from "./turn-subscription.ts";

/** What of the session is wanted: for a turn that has not begun, once it has. */
export type ResolveStart = (signal: AbortSignal) => Promise<Omit<SubscribeOptions, "format">>;

const DONE = Buffer.from(responsesToSse({ type: "[DONE]" }));

export function sessionStream(
  parts: GatewayContext,
  ref: SessionRef,
  choice: StreamFormat,
  wanted: ResolveStart,
): StreamHandler {
  return (outlet) => new SessionStream(parts, ref, choice, wanted, outlet);
}

class SessionStream implements StreamEvents, Subscriber, FrameSink {
  readonly #parts: GatewayContext;
  readonly #ref: SessionRef;
  readonly #choice: StreamFormat;
  readonly #outlet: FrameSink;
  readonly #openedAt = performance.now();
  /** Until it has begun. */
  #left: AbortController | null = null;
  #subscription: Subscription | null = null;
  #turn = "";
  #reason: SubscribedInfo["reason"] = "fresh";
  #isDone = false;

  constructor(
    parts: GatewayContext,
    ref: SessionRef,
    choice: StreamFormat,
    wanted: ResolveStart,
    outlet: FrameSink,
  ) {
    this.#parts = parts;
    this.#ref = ref;
    this.#choice = choice;
    this.#outlet = outlet;
    void this.#begin(wanted);
  }

  /** Feeds see the stream itself as the way out, so that it knows how it was left. */
  get sink(): FrameSink {
    return this;
  }

  send(bytes: Uint8Array): SendResult {
    if (this.#choice.dialect === "responses") this.#isDone = endsWithDone(bytes);
    return this.#outlet.send(bytes);
  }

  end(): void {
    this.#outlet.end();
  }

  onFlush(): void {
    this.#subscription?.onFlush();
  }

  onDrain(): void {
    this.#subscription?.onDrain();
  }

  onClose(): void {
    this.#left?.abort();
    this.#subscription?.onClose();
    this.#subscription = null;
  }

  onHeartbeat(now: number): void {
    if (this.#subscription === null) return;
    const { feeds, limits } = this.#parts;
    const silentSince = feeds.idleSince(this.#ref, limits.turnIdleTimeoutMs);
    if (hasTimedOut({ silentSince, openedAt: this.#openedAt }, now, limits.turnIdleTimeoutMs))
      this.fail("STREAM_TIMEOUT");
  }

  fail(why: ErrorCode): void {
    this.onClose();
    void this.#fail(why, ERRORS[why].meaning);
  }

  onShutdown(): void {
    // To those of 002 an end without a word is a broken connection; the others go by `retry:`.
    if (this.#choice.dialect === "responses") return this.fail("STREAM_CLOSED");
    this.onClose();
    this.#outlet.end();
  }

  onSubscribed(told: SubscribedInfo): void {
    const { resumed, reason } = told;
    this.#reason = reason;
    const text =
      this.#choice.dialect === "responses"
        ? formatSseComment(`${resumed ? "resumed" : "not resumed"}: ${reason}`)
        : sseOf({ type: "subscribed", session_id: this.#ref.session, ...told });
    this.#outlet.send(Buffer.from(text));
  }

  onEnd(reason: SubscriptionEndReason): void {
    this.#subscription = null;
    if (reason !== "over") {
      this.fail(reason === "gone" ? "NOT_FOUND" : "SERVER_ERROR");
      return;
    }
    if (this.#choice.dialect !== "responses" || this.#isDone) this.#outlet.end();
    // Nothing runs, so no turn has said the end. Who has lost his place would take a bare end for the answer's.
    else if (this.#reason === "expired") this.fail("CURSOR_EXPIRED");
    else if (this.#reason === "invalid") this.fail("CURSOR_INVALID");
    else {
      this.#outlet.send(DONE);
      this.#outlet.end();
    }
  }

  async #begin(wanted: ResolveStart): Promise<void> {
    this.#left = new AbortController();
    const { signal } = this.#left;
    try {
      const wish = await wanted(signal);
      if (signal.aborted) return;
      this.#turn = wish.untilTurnEnd ?? "";
      let isOver = false;
      const viewer: Subscriber = {
        sink: this,
        onSubscribed: (told) => this.onSubscribed(told),
        onEnd: (reason) => {
          isOver = true;
          this.onEnd(reason);
        },
      };
      const subscription = subscribeToTurn(this.#parts, this.#ref, { ...wish, format: this.#choice }, viewer);
      if (!isOver) this.#subscription = subscription;
    } catch (error) {
      if (signal.aborted) return;
      const { reply, isInternal } = toErrorResponse(error);
      if (isInternal) this.#parts.onError(error, "an event stream");
      await this.#fail(reply.error, reply.message);
    } finally {
      this.#left = null;
    }
  }

  async #fail(error: ErrorCode, message: string): Promise<void> {
    const { number: code, can_retry } = ERRORS[error];
    if (this.#choice.dialect === "responses") {
      const chat_id = await this.#number();
      const type = "response.error";
      this.#outlet.send(
        Buffer.from(
          responsesToSse({ type, response_id: this.#turn, chat_id, message, code, error, can_retry }),
        ),
      );
      this.#outlet.send(DONE);
    } else this.#outlet.send(Buffer.from(sseOf({ type: "error", error, code, message, can_retry })));
    this.#outlet.end();
  }

  /** Only failures need it, so nobody else pays for it. */
  async #number(): Promise<number> {
    try {
      return (await this.#parts.store.sessions.find(this.#ref))?.number ?? 0;
    } catch {
      return 0;
    }
  }
}

function sseOf(reply: {
  readonly type: string;
  readonly [field: string]: string | number | boolean;
}): string {
  return formatSse({ event: reply.type, data: toWireJson(reply) });
}

const DONE_LINE = Buffer.from("data: [DONE]\n\n");

function endsWithDone(bytes: Uint8Array): boolean {
  return DONE_LINE.equals(bytes.subarray(-DONE_LINE.byteLength));
}
