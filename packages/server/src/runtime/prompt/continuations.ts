/**
 * `listMessages` and `continuationMessage` render turns that continue from a form or payment. Pure.
 *
 * Invariant: the model always reads the outcome of the request. It is the result of the call that made the request.
 * `continuationMessage` repeats it if that result is not in the prompt, or if an empty message needs it as the last
 * thing read.
 */
import type { Turn, UserMessage } from "@turnstream/protocol";
import type { Prompt } from "../../models/model.ts";
import { hasResult, type InteractionOutcome, resultJson } from "./interaction-result.ts";
import { isEmptyMessage, userMessage } from "./turn-messages.ts";

export interface TurnWithMessages {
  readonly turn: Turn;
  readonly messages: Prompt;
  /** The outcome of the form or payment that the turn continues from, as text; null if there is none. */
  readonly continuation: string | null;
}

/** Stands for a message that only continues from a form or payment. */
const CONTINUED: Readonly<Record<InteractionOutcome["kind"], string>> = {
  form: "(I have dealt with the form.)",
  payment: "(The status of the payment has changed.)",
};

/** @param outcome null if the request doesn't exist */
export function continuationText(outcome: InteractionOutcome | null): string {
  return outcome === null
    ? CONTINUED.form
    : `${CONTINUED[outcome.kind]}\n${JSON.stringify(resultJson(outcome))}`;
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
