/**
 * `sessionStream` serves a session as an event stream: it subscribes, reports how the subscription started, and sends
 * the final frame of the dialect. Does not check access.
 * Invariant: frames of the session are passed on unchanged. A `responses` stream ends with one `[DONE]`, after an
 * error frame if it failed. Clients take any other end for a broken connection, so only a broken or full connection
 * may end without it. `onClose` aborts a start that is still waiting.
 */
import { ERRORS, type ErrorCode } from "@turnstream/protocol";
import { formatSse, formatSseComment, toWireJson } from "@turnstream/protocol/writer";
import { responsesToSse } from "@turnstream/protocol/responses";
import type { SessionRef } from "../../util/refs.ts";
import type { StreamFormat } from "../encoding/stream-format.ts";
import { toErrorResponse } from "../errors.ts";
import type {
  Subscription,
  SubscriptionEndReason,
  SubscribeOptions,
  StalledFrame,
  SubscribedInfo,
  Subscriber,
} from "../subscription/subscription.ts";
import type { GatewayContext, StreamHandler } from "../context.ts";
import type { FrameSink, SendResult, StreamEvents } from "../connection/frame-sink.ts";
import { subscribeToTurn } from "./turn-subscription.ts";

/** Returns the subscription options. If the turn has not started, waits for its start. */
export type ResolveSubscribeOptions = (signal: AbortSignal) => Promise<Omit<SubscribeOptions, "format">>;

/** Called in place of the final frames if the stream fails, as opposed to its turn. */
type OnFail = (code: ErrorCode, message: string) => void;

const DONE = Buffer.from(responsesToSse({ type: "[DONE]" }));

export function sessionStream(
  context: GatewayContext,
  ref: SessionRef,
  format: StreamFormat,
  resolveOptions: ResolveSubscribeOptions,
  onFail: OnFail | null = null,
): StreamHandler {
  return (sink) => new SessionStream(context, ref, format, resolveOptions, sink, onFail);
}

class SessionStream implements StreamEvents, Subscriber, FrameSink {
  readonly #context: GatewayContext;
  readonly #ref: SessionRef;
  readonly #format: StreamFormat;
  readonly #sink: FrameSink;
  readonly #onFail: OnFail | null;
  readonly #openedAt = performance.now();
  /** Aborts the start; null after it. */
  #starting: AbortController | null = null;
  #subscription: Subscription | null = null;
  #turnId = "";
  #reason: SubscribedInfo["reason"] = "fresh";
  #hasSentDone = false;
  /** The subscription may end before `subscribeToTurn` returns. */
  #hasEnded = false;

  constructor(
    context: GatewayContext,
    ref: SessionRef,
    format: StreamFormat,
    resolveOptions: ResolveSubscribeOptions,
    sink: FrameSink,
    onFail: OnFail | null,
  ) {
    this.#context = context;
    this.#ref = ref;
    this.#format = format;
    this.#sink = sink;
    this.#onFail = onFail;
    void this.#start(resolveOptions);
  }

  /** The feed sends to this object, so that it knows the last frame. */
  get sink(): FrameSink {
    return this;
  }

  send(bytes: Uint8Array): SendResult {
    if (this.#format.dialect === "responses") this.#hasSentDone = endsWithDone(bytes);
    return this.#sink.send(bytes);
  }

  end(): void {
    this.#sink.end();
  }

  onFlush(): void {
    this.#subscription?.onFlush();
  }

  onDrain(): void {
    this.#subscription?.onDrain();
  }

  onClose(): void {
    this.#starting?.abort();
    this.#subscription?.onClose();
    this.#subscription = null;
  }

  onHeartbeat(now: number): void {
    if (this.#subscription === null) return;
    const { feeds, limits } = this.#context;
    const idleSince = feeds.idleSince(this.#ref, limits.turnIdleTimeoutMs);
    if (hasTimedOut({ idleSince, openedAt: this.#openedAt }, now, limits.turnIdleTimeoutMs))
      this.fail(
        "STREAM_TIMEOUT",
        "The running turn has written no event for too long. Reconnect to it later, from the last event received.",
      );
  }

  fail(code: ErrorCode, message: string = ERRORS[code].meaning): void {
    this.onClose();
    void this.#fail(code, message);
  }

  onShutdown(): void {
    // For `responses` clients an end without a final frame is a broken connection. Other clients use `retry:`.
    if (this.#format.dialect === "responses") return this.fail("STREAM_CLOSED");
    this.onClose();
    this.#sink.end();
  }

  onSubscribed(info: SubscribedInfo): void {
    const { resumed, reason } = info;
    this.#reason = reason;
    const text =
      this.#format.dialect === "responses"
        ? formatSseComment(`${resumed ? "resumed" : "not resumed"}: ${reason}`)
        : toSse({ type: "subscribed", session_id: this.#ref.session, ...info });
    this.#sink.send(Buffer.from(text));
  }

  onStalled(frame: StalledFrame): void {
    this.#sink.send(Buffer.from(toSse({ ...frame, session_id: this.#ref.session })));
  }

  onEnd(reason: SubscriptionEndReason): void {
    this.#hasEnded = true;
    this.#subscription = null;
    if (reason === "gone") return this.fail("NOT_FOUND", "The session was deleted.");
    if (reason === "unavailable")
      return this.fail("SERVER_ERROR", "The log of the session is unavailable. Reconnect later.");
    if (this.#format.dialect !== "responses" || this.#hasSentDone) this.#sink.end();
    // No turn runs, so no turn has sent the final frame. A client with an invalid cursor would mistake a plain end for
    // the end of the answer.
    else if (this.#reason === "expired") this.fail("CURSOR_EXPIRED");
    else if (this.#reason === "invalid") this.fail("CURSOR_INVALID");
    else {
      this.#sink.send(DONE);
      this.#sink.end();
    }
  }

  async #start(resolveOptions: ResolveSubscribeOptions): Promise<void> {
    this.#starting = new AbortController();
    const { signal } = this.#starting;
    try {
      const options = await resolveOptions(signal);
      if (signal.aborted) return;
      this.#turnId = options.untilTurnEnd ?? "";
      const subscribed = { ...options, format: this.#format };
      const subscription = subscribeToTurn(this.#context, this.#ref, subscribed, this);
      if (!this.#hasEnded) this.#subscription = subscription;
    } catch (error) {
      if (signal.aborted) return;
      const { reply, isInternal } = toErrorResponse(error);
      if (isInternal) this.#context.onError(error, { during: "an event stream" });
      await this.#fail(reply.error, reply.message);
    } finally {
      this.#starting = null;
    }
  }

  async #fail(error: ErrorCode, message: string): Promise<void> {
    if (this.#onFail !== null) return this.#onFail(error, message);
    const { number, can_retry } = ERRORS[error];
    if (this.#format.dialect === "responses") {
      const [chat_id, response_id] = [await this.#readSessionNumber(), this.#turnId];
      const reply = { response_id, chat_id, message, code: number, error, can_retry };
      this.#sink.send(Buffer.from(responsesToSse({ type: "response.error", ...reply })));
      this.#sink.send(DONE);
    } else this.#sink.send(Buffer.from(toSse({ type: "error", error, code: number, message, can_retry })));
    this.#sink.end();
  }

  /** Read on demand, because only failures need it. */
  async #readSessionNumber(): Promise<number> {
    try {
      return (await this.#context.store.sessions.find(this.#ref))?.number ?? 0;
    } catch {
      return 0;
    }
  }
}

export interface IdleState {
  /** When the turn wrote its last event; null if no turn runs or the turn waits for a user. */
  readonly idleSince: number | null;
  /** When this stream was opened. A client that reconnects to an idle turn gets the whole time. */
  readonly openedAt: number;
}

/** Decides when the stream of a turn without events ends. */
export function hasTimedOut({ idleSince, openedAt }: IdleState, now: number, timeoutMs: number): boolean {
  return idleSince !== null && now - Math.max(idleSince, openedAt) >= timeoutMs;
}

function toSse(reply: {
  readonly type: string;
  readonly [field: string]: string | number | boolean;
}): string {
  return formatSse({ event: reply.type, data: toWireJson(reply) });
}

const DONE_LINE = Buffer.from("data: [DONE]\n\n");

function endsWithDone(bytes: Uint8Array): boolean {
  return DONE_LINE.equals(bytes.subarray(-DONE_LINE.byteLength));
}
