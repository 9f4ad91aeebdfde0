/**
 * Turns that went on from a form, as a model reads them: what became of the form is the result of the call that asked for
 * it, and is said once more where that result is not what the model has read last. Pure.
 */
import { listBlocks, type Turn, type UserMessage } from "@turnstream/protocol";
import type { Prompt } from "../../models/model.ts";
import { type FormOutcome, formResultText } from "./form-result.ts";
import { isEmptyMessage, userMessage } from "./turn-messages.ts";

export interface TurnWithMessages {
  readonly turn: Turn;
  readonly messages: Prompt;
  /** What became of the form that it went on from, in words; null when it went on from none. */
  readonly continuation: string | null;
}

/** In place of a message that only went on from a form. */
const CONTINUED = "(I have dealt with the form.)";

/** @param outcome null for what is no form */
export function continuedTurns(outcome: FormOutcome | null): string {
  return outcome === null ? CONTINUED : `${CONTINUED}\n${JSON.stringify(formResultText(outcome))}`;
}

/** @param earlier what is told before the first of them */
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

/** @param before the turns that the model reads before it */
export function continuationMessage(
  message: UserMessage | null,
  continuation: string | null,
  before: readonly TurnWithMessages[],
): Prompt {
  if (message === null || continuation === null) return [];
  const asking = before.findLast(({ turn }) => asks(turn, message.resumes));
  const isLast = asking !== undefined && asking === before.at(-1) && asking.messages.at(-1)?.role === "tool";
  // With words of its own it is enough that the result is there, and was not summed up.
  const isRead = isEmptyMessage(message) ? isLast : asking !== undefined;
  return isRead ? [] : [userMessage({ ...message, files: [], text: continuation })];
}

function asks(turn: Turn, form: string | null): boolean {
  return listBlocks(turn).some((block) => block.kind === "form" && block.form === form);
}
