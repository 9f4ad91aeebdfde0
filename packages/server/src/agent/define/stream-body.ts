/**
 * `StreamBody` is a developer's own loop, whose output becomes the events of a turn. Types only.
 *
 * Invariant: `runStreamAgent` reads both kinds of output. A body gets no store and no log; it only yields parts or
 * events. `AiSdkResult` and `AiSdkPart` name no type of the SDK, so that its updates don't break them.
 */
import type { RequestBlock, UserMessage } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { Prompt } from "../../models/model.ts";

export interface StreamBodyContext {
  /** Aborted when the user stops the turn, or when this worker must stop. */
  readonly signal: AbortSignal;
  readonly message: UserMessage | null;
  /** The conversation so far and the message, in the format of the model. */
  readonly prompt: Prompt;
  readonly tenant: string;
  readonly session: string;
  readonly turn: string;
  readonly user: string;
  /** The language of the user, as a BCP 47 tag. */
  readonly locale: string;
}

/** The part of a `streamText` result that the runtime reads. */
export interface AiSdkResult {
  readonly fullStream: AsyncIterable<AiSdkPart>;
}

/** A part of `fullStream`. Unknown types are ignored. */
export interface AiSdkPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

type Loose<D> = D extends { readonly block: string; readonly type: string }
  ? D["type"] extends "payment.request" | "payment.update"
    ? never
    : Omit<D, "turn" | "run" | "block" | "index"> & { readonly block: string }
  : never;

/** A request of a feature, such as a payment. A function of the feature makes it. The turn ends when the body does. */
export interface RequestEvent {
  readonly type: "request";
  readonly block: string;
  readonly kind: RequestBlock["kind"];
  readonly spec: unknown;
}

/**
 * An event of a block of the main run. `block` is any id that the body chooses; the writer adds the position. The event
 * must be legal at this point of the turn.
 */
export type StreamBodyEvent = Loose<Extract<EventDraft, { readonly block: string }>> | RequestEvent;

export interface StreamBody {
  run(
    context: StreamBodyContext,
  ): AiSdkResult | AsyncIterable<StreamBodyEvent> | Promise<AiSdkResult | AsyncIterable<StreamBodyEvent>>;
  readonly idempotent: boolean;
}
