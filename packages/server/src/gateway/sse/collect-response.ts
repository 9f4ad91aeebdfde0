/**
 * `collectResponse` returns the answer of the `responses` dialect as one JSON object, for requests without `stream`.
 * Invariant: it reads the same event stream that other clients get, so the two never differ. It does not wait for
 * users: an interaction that blocks the turn ends the response, after the store confirms that it is still pending. A
 * request is in the stream before it is in the store, so the store is read until it has the request. It settles once,
 * and then closes its stream and timer. The turn itself continues.
 */
import { createSseParser, type ErrorCode, errorCodeFromNumber } from "@turnstream/protocol";
import { type ResponsesFrame, responsesFromSse, type ResponsesFrameOf } from "@turnstream/protocol/responses";
import type { PostMessageReply } from "@turnstream/protocol/schema";
import type { SessionRef } from "../../util/refs.ts";
import { waitForInteraction } from "../../session/interactions/find.ts";
import { isPendingStatus } from "../../store/rules/interactions.ts";
import type { StreamFormat } from "../encoding/stream-format.ts";
import { toErrorResponse, HTTP_STATUS, RequestError } from "../errors.ts";
import type { SubscribeOptions } from "../subscription/subscription.ts";
import type { RouteResult, GatewayContext } from "../context.ts";
import { sessionStream } from "./session-stream.ts";

type InteractionFrame = ResponsesFrameOf<"response.interaction_request">;

type JsonResult = Extract<RouteResult, { readonly json: unknown }>;

const CHECK_INTERVAL_MS = 1_000;
const NO_USAGE = { total_prompt_tokens: 0, total_completion_tokens: 0, total_tokens: 0, total_calls: 0 };

/** @throws the signal's reason, an error of the store, or RequestError if the stream fails */
export function collectResponse(
  context: GatewayContext,
  ref: SessionRef,
  format: StreamFormat,
  options: Omit<SubscribeOptions, "format">,
  signal: AbortSignal,
): Promise<JsonResult> {
  return new Promise((resolve, reject) => {
    let isSettled = false;
    const response = new CollectedResponse(options.untilTurnEnd ?? "");
    const decoder = new TextDecoder();
    const parser = createSseParser((message) => {
      const frame = responsesFromSse(message);
      if (frame !== null) response.add(frame);
    });

    const settle = (complete: () => void): void => {
      if (isSettled) return;
      isSettled = true;
      clearInterval(timer);
      signal.removeEventListener("abort", abort);
      stream.onClose();
      complete();
    };
    const abort = (): void => settle(() => reject(signal.reason as Error));

    /** The stream may be behind, so read the current status of an interaction from the store. */
    const isAnyPending = async (keys: readonly string[]): Promise<boolean> => {
      const found = await Promise.all(keys.map((key) => waitForInteraction(context.store, ref, key)));
      return found.some((one) => one !== null && isPendingStatus(one.kind, one.status));
    };
    let isChecking = false;
    /** The timer repeats the check, because a commit can take longer than one lookup waits. */
    const checkInteractions = async (): Promise<void> => {
      const keys = response.pendingKeys();
      if (isChecking || isSettled || keys.length === 0) return;
      isChecking = true;
      try {
        if (await isAnyPending(keys)) settle(() => resolve({ status: 200, json: response.toReply() }));
      } catch (error) {
        settle(() => reject(error));
      }
      isChecking = false;
    };

    const onFail = (code: ErrorCode, message: string): void =>
      settle(() => reject(new RequestError(code, message)));
    const openStream = sessionStream(context, ref, format, async () => options, onFail);
    const stream = openStream({
      send(bytes) {
        parser.push(decoder.decode(bytes, { stream: true }));
        if (response.isDone) settle(() => resolve(response.toResult()));
        else void checkInteractions();
        return "written";
      },
      end: () => settle(() => resolve(response.toResult())),
    });
    const timer = setInterval(() => {
      void checkInteractions();
      stream.onHeartbeat(performance.now());
    }, CHECK_INTERVAL_MS).unref();
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
  });
}

/** Accumulates the frames of a stream. */
class CollectedResponse {
  readonly #turnId: string;
  readonly #requests = new Map<string, InteractionFrame>();
  #chatId = 0;
  #text = "";
  #completed: ResponsesFrameOf<"response.output_text.completed"> | null = null;
  #error: ResponsesFrameOf<"response.error"> | null = null;
  isDone = false;

  constructor(turn: string) {
    this.#turnId = turn;
  }

  add(frame: ResponsesFrame): void {
    if (frame.type === "[DONE]") {
      this.isDone = true;
      return;
    }
    this.#chatId = frame.chat_id;
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
        this.#requests.set(interactionKey(frame), request);
        break;
      }
      case "response.interaction_update":
        this.#requests.delete(frame.interaction_id);
        break;
      default:
      // Intermediate frames are not part of the response.
    }
  }

  /** Keys of the interactions that block the turn. */
  pendingKeys(): string[] {
    return [...this.#requests].filter(([, request]) => blocksTurn(request)).map(([key]) => key);
  }

  toResult(): JsonResult {
    if (this.#error === null) return { status: 200, json: this.toReply() };
    const { message } = this.#error;
    const code = errorCodeFromNumber(this.#error.code);
    const { reply } = toErrorResponse(new RequestError(code, message));
    return { status: HTTP_STATUS[code], json: reply };
  }

  toReply(): PostMessageReply {
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
    return { response_id: this.#turnId, chat_id: this.#chatId, status, final_text, usage, interactions };
  }
}

function interactionKey(request: InteractionFrame): string {
  if ("approval_key" in request) return request.approval_key;
  return "form_request_id" in request ? request.form_request_id : request.payment.payment_request_id;
}

function blocksTurn(request: InteractionFrame): boolean {
  return "approval_key" in request || ("waits" in request && request.waits);
}
