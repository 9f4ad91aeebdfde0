/**
 * A turn's body that a team brings along: its own loop, whose output becomes events. Types only.
 */
import type { UserMessage } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { Prompt } from "../../models/model.ts";

export interface StreamBodyContext {
  /** Aborted when the person stops the turn, or this worker must not go on. */
  readonly signal: AbortSignal;
  readonly message: UserMessage | null;
  /** The conversation so far and the message, as a model takes it. */
  readonly prompt: Prompt;
  readonly tenant: string;
  readonly session: string;
  readonly turn: string;
  readonly user: string;
}

/** What `streamText` of the AI SDK returns, as far as we look at it. */
export interface AiSdkResult {
  readonly fullStream: AsyncIterable<AiSdkPart>;
}

/** A part of it; we read those that we know. */
export interface AiSdkPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

type Loose<D> = D extends { readonly block: string }
  ? Omit<D, "turn" | "run" | "block" | "index"> & { readonly block: string }
  : never;
/**
 * An event of a block of the main run. `block` is any name that the body chooses for it; its place is filled in. It has
 * to be legal where it stands.
 */
export type StreamBodyEvent = Loose<Extract<EventDraft, { readonly block: string }>>;

export interface StreamBody {
  run(
    context: StreamBodyContext,
  ): AiSdkResult | AsyncIterable<StreamBodyEvent> | Promise<AiSdkResult | AsyncIterable<StreamBodyEvent>>;
  readonly idempotent: boolean;
}
