/**
 * A person answers what an agent asks, by the question's own buttons or by a plain message, which then is the answer and
 * begins no turn. Committed with its event, like any decision.
 */
import type { Answer, Json, Question } from "@turnstream/protocol";
import { StoreError } from "../store/errors.ts";
import type { ChangeResult, Interaction } from "../store/ports/interactions.ts";
import type { NewMessage } from "../store/ports/waiting.ts";
import type { Ref } from "../store/refs.ts";
import type { Store } from "../store/store.ts";
import { changeInteraction } from "./change-interaction.ts";
import type { CommandParts } from "./parts.ts";
import { deliverCommitted } from "./relay.ts";
import { DECISIONS_CHANNEL, formatRef } from "./wake.ts";

export interface QuestionAnswer {
  readonly key: string;
  readonly answers: readonly Answer[];
  readonly by?: string;
}

/** Of any number at once one wins. Throws NOT_FOUND, and INVALID for answers that don't fit the questions. */
export async function answerQuestion(
  parts: CommandParts,
  ref: Ref,
  wish: QuestionAnswer,
): Promise<ChangeResult> {
  const { key, answers, by } = wish;
  const result = await parts.store.transaction(async (tx) => {
    const interaction = await tx.interactions.byKey(ref, key);
    if (interaction?.kind !== "question") throw new StoreError("NOT_FOUND", `question ${key}`);
    const problem = problemOf(questionsOf(interaction), answers);
    if (problem !== null) throw new StoreError("INVALID", `question ${key}: ${problem}`);
    const fields = { answers: answers as unknown as Json };
    return changeInteraction(tx, ref, interaction, {
      to: "answered",
      fields,
      ...(by === undefined ? {} : { by }),
    });
  });
  await deliverCommitted(parts, ref);
  parts.signals.send(DECISIONS_CHANNEL, formatRef(ref));
  return result;
}

/** The question that a plain message answers, if one waits. In the transaction in which the message was added. */
export async function answerByMessage(tx: Store, ref: Ref, message: NewMessage): Promise<boolean> {
  const asked = await tx.interactions.list(ref, { pending: true });
  const question = asked.find(({ kind }) => kind === "question");
  const [first] = question === undefined ? [] : questionsOf(question);
  if (question === undefined || first === undefined) return false;
  const { id, text, by } = message;
  const answers = [{ question: first.id, selected: [], text }];
  const move = { to: "answered", fields: { answers, message: id } };
  const result = await changeInteraction(tx, ref, question, {
    ...move,
    ...(by === undefined || by === null ? {} : { by }),
  });
  if (result.won) await tx.waiting.remove(ref, id);
  return result.won;
}

function questionsOf({ request }: Interaction): readonly Question[] {
  return (request as unknown as { readonly questions: readonly Question[] }).questions;
}

/** What is wrong with the answers, in words; null when nothing is. Pure. */
function problemOf(questions: readonly Question[], answers: readonly Answer[]): string | null {
  const seen = new Set<string>();
  for (const { question: id, selected, text } of answers) {
    const question = questions.find((one) => one.id === id);
    if (question === undefined) return `there is no question ${id}`;
    if (seen.has(id)) return `question ${id} is answered twice`;
    seen.add(id);
    const unknown = selected.find((option) => !question.options.some((one) => one.id === option));
    if (unknown !== undefined) return `question ${id} has no option ${unknown}`;
    if (selected.length > 1 && !question.multiple) return `question ${id} takes one choice`;
    if (text !== undefined && text !== "" && !question.free_text) return `question ${id} takes no text`;
    if (selected.length === 0 && (text ?? "") === "") return `question ${id} has no answer`;
  }
  const missing = questions.find(({ id }) => !seen.has(id));
  return missing === undefined ? null : `question ${missing.id} is not answered`;
}
