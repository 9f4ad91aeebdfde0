/**
 * A person answers or dismisses what an agent asks, by the question's own buttons or by a plain message. Committed with its
 * event, like any decision. Never tells the agent: whoever waits for it looks.
 */
import type { QuestionAnswer, Json, Question } from "@turnstream/protocol";
import { StoreError } from "../../store/errors.ts";
import type { TransitionResult, Interaction } from "../../store/ports/interactions.ts";
import type { NewMessage } from "../../store/ports/running.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Store } from "../../store/store.ts";
import {
  transitionInteraction,
  type DecisionSource,
  decisionSource,
  type InteractionTransition,
} from "./transition.ts";
import { publishOutbox } from "../archive/publish-outbox.ts";
import { findInteraction } from "./find.ts";
import type { CommandBackend } from "../backend.ts";
import { DECISIONS_CHANNEL, encodeSessionRef } from "../signal-channels.ts";

export interface AnswerQuestionInput extends DecisionSource {
  readonly key: string;
  readonly answers: readonly QuestionAnswer[];
}

/** Of any number at once one wins. Throws NOT_FOUND, and INVALID for answers that don't fit the questions. */
export function answerQuestion(
  backend: CommandBackend,
  ref: SessionRef,
  input: AnswerQuestionInput,
): Promise<TransitionResult> {
  const { key, answers } = input;
  return changeQuestion(backend, ref, key, (interaction) => {
    const problem = problemOf(questionsOf(interaction), answers);
    if (problem !== null) throw new StoreError("INVALID", `question ${key}: ${problem}`);
    const fields = { answers: answers as unknown as Json };
    return { to: "answered", fields, ...decisionSource(input) };
  });
}

export interface DismissQuestionInput extends DecisionSource {
  readonly key: string;
  /** The agent reads it. */
  readonly reason?: string;
}

/** The agent goes on without an answer. Of any number at once one wins. Throws NOT_FOUND. */
export function dismissQuestion(
  backend: CommandBackend,
  ref: SessionRef,
  input: DismissQuestionInput,
): Promise<TransitionResult> {
  const { key, reason } = input;
  return changeQuestion(backend, ref, key, () => ({
    to: "dismissed",
    ...decisionSource(input),
    ...(reason === undefined ? {} : { reason }),
  }));
}

async function changeQuestion(
  backend: CommandBackend,
  ref: SessionRef,
  key: string,
  moveOf: (interaction: Interaction) => InteractionTransition,
): Promise<TransitionResult> {
  // What was asked never changes, so that it can be looked at before.
  const interaction = await findInteraction(backend.store, ref, key, "question");
  const move = moveOf(interaction);
  const result = await backend.store.transaction((tx) => transitionInteraction(tx, ref, interaction, move));
  await publishOutbox(backend, ref);
  backend.signals.send(DECISIONS_CHANNEL, encodeSessionRef(ref));
  return result;
}

/**
 * What a plain message does to the question that waits the longest, in the transaction in which the message was added:
 * it is the answer and waits no longer, or it dismisses the question and goes on waiting for its turn. One with files
 * does that: its turn reads them, and an answer has no place for them.
 * @returns null when nothing was asked
 */
export async function answerByMessage(
  tx: Store,
  ref: SessionRef,
  message: NewMessage & DecisionSource,
): Promise<"answered" | "dismissed" | null> {
  const { id, text, files = [], resumes = null } = message;
  // It goes on with a form, and so is about that.
  if (resumes !== null) return null;
  const [question] = await tx.interactions.list(ref, { pending: true, kind: "question", limit: 1 });
  if (question === undefined) return null;
  const answers = files.length > 0 ? null : parseAnswer(questionsOf(question), text);
  const result = await transitionInteraction(tx, ref, question, {
    ...(answers === null ? { to: "dismissed" } : { to: "answered", fields: { answers, message: id } }),
    ...decisionSource(message),
  });
  if (!result.applied) return null;
  if (answers === null) return "dismissed";
  await tx.queuedMessages.remove(ref, id);
  return "answered";
}

/** Answers are part of one event, beside its other fields. */
const MAX_ANSWER_BYTES = 60_000;

/**
 * A message as an answer; null when it is none. To one question: the option that it names, or its text. To several: its
 * text, for all of them. A text that no event could hold is none: its turn can read all of it. Pure.
 */
export function parseAnswer(questions: readonly Question[], text: string): QuestionAnswer[] | null {
  const answer = text.trim();
  const [only] = questions;
  if (answer === "" || only === undefined) return null;
  const named = only.options.filter(({ label }) => label.trim().toLowerCase() === answer.toLowerCase());
  if (questions.length === 1 && named.length === 1)
    return named.map((option) => ({ question: only.id, selected: [option.id] }));
  const open = questions.find((question) => question.free_text);
  if (open === undefined || Buffer.byteLength(JSON.stringify(text)) > MAX_ANSWER_BYTES) return null;
  return [{ question: open.id, selected: [], text }];
}

function questionsOf({ request }: Interaction): readonly Question[] {
  return (request as unknown as { readonly questions: readonly Question[] }).questions;
}

/** What is wrong with the answers, in words; null when nothing is. Pure. */
function problemOf(questions: readonly Question[], answers: readonly QuestionAnswer[]): string | null {
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
