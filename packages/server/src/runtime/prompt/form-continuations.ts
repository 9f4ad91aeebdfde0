/**
 * `listMessages` and `continuationMessage` render turns that continue from a form. Pure.
 *
 * Invariant: the model always reads the form's outcome. It is the result of the call that requested the form.
 * `continuationMessage` repeats it if that result is not in the prompt, or if an empty message needs it as the last
 * thing read.
 */
import { listBlocks, type Turn, type UserMessage } from "@turnstream/protocol";
import type { Prompt } from "../../models/model.ts";
import { type FormOutcome, formResultText } from "./form-result.ts";
import { isEmptyMessage, userMessage } from "./turn-messages.ts";

export interface TurnWithMessages {
  readonly turn: Turn;
  readonly messages: Prompt;
  /** The outcome of the form that the turn continues from, as text; null if there is none. */
  readonly continuation: string | null;
}

/** Stands for a message that only continues from a form. */
const CONTINUED = "(I have dealt with the form.)";

/** @param outcome null if the form doesn't exist */
export function continuedTurns(outcome: FormOutcome | null): string {
  return outcome === null ? CONTINUED : `${CONTINUED}\n${JSON.stringify(formResultText(outcome))}`;
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
  const asking = before.findLast(({ turn }) => asks(turn, message.resumes));
  const isLast = asking !== undefined && asking === before.at(-1) && asking.messages.at(-1)?.role === "tool";
  // If the message has its own text, the result only has to be in the prompt and not in the summary.
  const isRead = isEmptyMessage(message) ? isLast : asking !== undefined;
  return isRead ? [] : [userMessage({ ...message, files: [], text: continuation })];
}

function asks(turn: Turn, form: string | null): boolean {
  return listBlocks(turn).some((block) => block.kind === "form" && block.form === form);
}
