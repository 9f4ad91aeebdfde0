/**
 * `listMessages` and `continuationMessage` render turns that continue from a request, such as a form. Pure.
 *
 * Invariant: the model always reads the outcome of the request. It is the result of the call that made the request.
 * `continuationMessage` repeats it if that result is not in the prompt, or if an empty message needs it as the last
 * thing read.
 */
import type { Turn, UserMessage } from "@turnstream/protocol";
import type { Prompt } from "../../models/model.ts";
import type { RequestOutcome } from "../../engine/attempt/request-kind.ts";
import { hasResult, type RequestKinds, resultJson } from "./interaction-result.ts";
import { isEmptyMessage, userMessage } from "./turn-messages.ts";

export interface TurnWithMessages {
  readonly turn: Turn;
  readonly messages: Prompt;
  /** The outcome of the request that the turn continues from, as text; null if there is none. */
  readonly continuation: string | null;
}

/** Stands for a message that only continues from a request that is no longer known. */
const CONTINUED = "(I have dealt with it.)";

/** @param outcome null if the request doesn't exist */
export function continuationText(kinds: RequestKinds, outcome: RequestOutcome | null): string {
  if (outcome === null) return CONTINUED;
  return `${kinds.get(outcome.kind)?.continued ?? CONTINUED}\n${JSON.stringify(resultJson(kinds, outcome))}`;
}

/** @param earlier turns in the prompt before the first of `turns` */
export function listMessages(
  turns: readonly TurnWithMessages[],
  earlier: readonly TurnWithMessages[] = [],
): Prompt {
  return turns.flatMap((entry, n) => {
    const { turn, messages, continuation } = entry;
    return [
      ...continuationMessage(turn.message, continuation, [...earlier, ...turns.slice(0, n)]),
      ...messages,
    ];
  });
}

/** @param before turns in the prompt before the message */
export function continuationMessage(
  message: UserMessage | null,
  continuation: string | null,
  before: readonly TurnWithMessages[],
): Prompt {
  if (message === null || continuation === null) return [];
  const { resumes } = message;
  const asking = before.findLast(({ turn }) => resumes !== null && hasResult(turn, resumes));
  const isLast = asking !== undefined && asking === before.at(-1) && asking.messages.at(-1)?.role === "tool";
  // If the message has its own text, the result only has to be in the prompt and not in the summary.
  const isRead = isEmptyMessage(message) ? isLast : asking !== undefined;
  return isRead ? [] : [userMessage({ ...message, files: [], text: continuation })];
}
