/**
 * The answer of 002 without `stream`: reads the same stream that another client would get, and gives what it comes to as one
 * object. So the two never differ. A turn that waits for a person is not waited for: what they must do is the answer.
 */
import { createSseParser, errorCodeFromNumber, type Json } from "@turnstream/protocol";
import { type ResponsesFrame, responsesFromSse, type ResponsesFrameOf } from "@turnstream/protocol/responses";
import type { PostMessageReply } from "@turnstream/protocol/schema";
import type { SessionRef } from "../../store/refs.ts";
import { isPendingStatus } from "../../store/rules/interactions.ts";
import type { StreamFormat } from "../encoding/stream-format.ts";
import { toErrorResponse, HTTP_STATUS, RequestError } from "../errors.ts";
import type {
  Subscription,
  SubscriptionEndReason,
  SubscribeOptions,
  Subscriber,
} from "../subscription/subscription.ts";
import type { RouteResult, GatewayContext } from "../context.ts";
import type { SendResult } from "../connection/frame-sink.ts";
import { hasTimedOut } from "./idle-timeout.ts";
import { subscribeToTurn } from "./turn-subscription.ts";

type Request = ResponsesFrameOf<"response.interaction_request">;

const LOOK_MS = 1_000;
const NO_USAGE = { total_prompt_tokens: 0, total_completion_tokens: 0, total_tokens: 0, total_calls: 0 };

/** Throws what `errorAnswer` knows: when it can't be read to its end, and what the signal says. */
export function collectResponse(
  parts: GatewayContext,
  ref: SessionRef,
  choice: StreamFormat,
  wish: Omit<SubscribeOptions, "format">,
  signal: AbortSignal,
): Promise<RouteResult> {
  return new Promise((resolve, reject) => {
    let subscription: Subscription | null = null;
    let isOver = false;
    const openedAt = performance.now();
    const told = new ToldTurn(wish.untilTurnEnd ?? "");
    const decoder = new TextDecoder();
    const parser = createSseParser((message) => {
      const frame = responsesFromSse(message);
      if (frame !== null) told.take(frame);
    });

    const finish = (settle: () => void): void => {
      if (isOver) return;
      isOver = true;
      clearInterval(timer);
      signal.removeEventListener("abort", abort);
      subscription?.onClose();
      settle();
    };
    const abort = (): void => finish(() => reject(signal.reason as Error));
    const look = (): void => {
      const { turnIdleTimeoutMs } = parts.limits;
      const silence = { silentSince: parts.feeds.idleSince(ref, turnIdleTimeoutMs), openedAt };
      if (hasTimedOut(silence, performance.now(), turnIdleTimeoutMs))
        finish(() =>
          reject(new RequestError("STREAM_TIMEOUT", "The turn runs without a word. Come back to it.")),
        );
    };
    const timer = setInterval(look, LOOK_MS).unref();

    /** The stream may be behind: what the store says of a request that waits is how it is now. */
    const askStore = async (): Promise<void> => {
      const { interactions } = parts.store;
      const asked = await Promise.all(told.waiting().map((key) => interactions.byKey(ref, key)));
      if (asked.some((one) => one !== null && isPendingStatus(one.kind, one.status)))
        finish(() => resolve({ status: 200, json: told.reply() }));
    };

    const viewer: Subscriber = {
      sink: {
        send(bytes: Uint8Array): SendResult {
          parser.push(decoder.decode(bytes, { stream: true }));
          if (told.isDone) finish(() => resolve(told.answer()));
          else if (told.waiting().length > 0)
            askStore().catch((error: unknown) => finish(() => reject(error)));
          return "written";
        },
        end: () => undefined,
      },
      onSubscribed: () => undefined,
      onEnd: (reason: SubscriptionEndReason) =>
        finish(() => (reason === "over" ? resolve(told.answer()) : reject(endOf(reason)))),
    };
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    subscription = subscribeToTurn(parts, ref, { ...wish, format: choice }, viewer);
    if (isOver) subscription.onClose();
  });
}

function endOf(reason: Exclude<SubscriptionEndReason, "over">): RequestError {
  return reason === "gone"
    ? new RequestError("NOT_FOUND", "The session was deleted.")
    : new RequestError(
        "SERVER_ERROR",
        "The log of the session can't be reached. Come back to the turn later.",
      );
}

/** What a stream has said so far. */
class ToldTurn {
  readonly #turn: string;
  readonly #requests = new Map<string, Request>();
  #chat = 0;
  #text = "";
  #completed: ResponsesFrameOf<"response.output_text.completed"> | null = null;
  #error: ResponsesFrameOf<"response.error"> | null = null;
  isDone = false;

  constructor(turn: string) {
    this.#turn = turn;
  }

  take(frame: ResponsesFrame): void {
    if (frame.type === "[DONE]") {
      this.isDone = true;
      return;
    }
    this.#chat = frame.chat_id;
    switch (frame.type) {
      case "response.output_text.delta":
        this.#text += frame.delta;
        break;
      case "response.output_text.completed":
        this.#completed = frame;
        break;
      case "response.error":
        this.#error = frame;
        break;
      case "response.interaction_request": {
        const { event_id: _, ...request } = frame;
        this.#requests.set(keyOf(frame), request);
        break;
      }
      case "response.interaction_update":
        this.#requests.delete(frame.interaction_id);
        break;
      default:
      // What it said on its way is not part of what it came to.
    }
  }

  /** Requests that the turn itself waits for. */
  waiting(): string[] {
    return [...this.#requests].filter(([, request]) => isWaitedFor(request)).map(([key]) => key);
  }

  answer(): RouteResult {
    if (this.#error === null) return { status: 200, json: this.reply() };
    const { message } = this.#error;
    const word = errorCodeFromNumber(this.#error.code);
    const { reply } = toErrorResponse(new RequestError(word, message));
    return { status: HTTP_STATUS[word], json: reply as unknown as Json };
  }

  reply(): PostMessageReply {
    const { final_text, usage, stop_reason } = this.#completed ?? {
      final_text: this.#text,
      usage: NO_USAGE,
      stop_reason: null,
    };
    const status =
      stop_reason === null
        ? "requires_interaction"
        : stop_reason === "user_stopped"
          ? "stopped"
          : "completed";
    const interactions = [...this.#requests.values()];
    return { response_id: this.#turn, chat_id: this.#chat, status, final_text, usage, interactions };
  }
}

function keyOf(request: Request): string {
  if ("approval_key" in request) return request.approval_key;
  return "form_request_id" in request ? request.form_request_id : request.payment.payment_request_id;
}

function isWaitedFor(request: Request): boolean {
  return "approval_key" in request || ("waits" in request && request.waits);
}
