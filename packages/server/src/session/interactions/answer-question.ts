/**
 * `answerQuestion`, `dismissQuestion` and `answerByMessage` decide a pending question: by its options, or by a plain
 * message.
 *
 * Invariant: the decision and its event are one commit. The waiting turn is only signalled; it reads the decision from
 * the store.
 */
import type { QuestionAnswer, Question } from "@turnstream/protocol";
import { StoreError } from "../../store/errors.ts";
import type { TransitionResult, Interaction } from "../../store/interactions.ts";
import type { NewMessage } from "../../store/queued-messages.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { isJsonLongerThan } from "../../util/json.ts";
import {
  transitionInteraction,
  type DecisionSource,
  decisionSource,
  type InteractionTransition,
} from "./transition.ts";
import { publishOutbox } from "../archive/relay-outbox.ts";
import { findInteraction } from "./find.ts";
import type { CommandBackend } from "../backend.ts";
import { signalDecision } from "../signal-channels.ts";
import { defined } from "../../util/defined.ts";

export interface AnswerQuestionInput extends DecisionSource {
  readonly key: string;
  readonly answers: readonly QuestionAnswer[];
}

/**
 * If several decisions arrive at the same time, one wins.
 * @throws StoreError NOT_FOUND, or INVALID if the answers don't fit the questions
 */
export function answerQuestion(
  backend: CommandBackend,
  ref: SessionRef,
  input: AnswerQuestionInput,
): Promise<TransitionResult> {
  const { key, answers } = input;
  return changeQuestion(backend, ref, key, (interaction) => {
    const problem = problemOf(questionsOf(interaction), answers);
    if (problem !== null) throw new StoreError("INVALID", `question ${key}: ${problem}`);
    return { to: "answered", fields: { answers }, ...decisionSource(input) };
  });
}

export interface DismissQuestionInput extends DecisionSource {
  readonly key: string;
  /** The agent reads it. */
  readonly reason?: string;
}

/**
 * The agent continues without an answer. If several decisions arrive at the same time, one wins.
 * @throws StoreError NOT_FOUND
 */
export function dismissQuestion(
  backend: CommandBackend,
  ref: SessionRef,
  input: DismissQuestionInput,
): Promise<TransitionResult> {
  const { key, reason } = input;
  return changeQuestion(backend, ref, key, () => ({
    to: "dismissed",
    ...decisionSource(input),
    ...defined({ reason }),
  }));
}

async function changeQuestion(
  backend: CommandBackend,
  ref: SessionRef,
  key: string,
  moveOf: (interaction: Interaction) => InteractionTransition,
): Promise<TransitionResult> {
  // A request never changes, so it can be read outside of the transaction.
  const interaction = await findInteraction(backend.store, ref, key, "question");
  const move = moveOf(interaction);
  const result = await backend.store.transaction((tx) => transitionInteraction(tx, ref, interaction, move));
  await publishOutbox(backend, ref);
  await signalDecision(backend, ref);
  return result;
}

/**
 * Applies a plain message to the oldest pending question, in the transaction that adds the message.
 * The message answers the question and leaves the queue, or it dismisses the question and stays queued. A message with
 * files always dismisses: its turn reads the files, and an answer can't hold them.
 * @returns null if no question is pending
 */
export async function answerByMessage(
  tx: Store,
  ref: SessionRef,
  message: NewMessage & DecisionSource,
): Promise<"answered" | "dismissed" | null> {
  const { id, text, files = [], resumes = null } = message;
  // The message continues from a form, so it doesn't answer the question.
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

/** The answers and the other fields must fit into one event. */
const MAX_ANSWER_BYTES = 60_000;

/**
 * Returns the answers that a message gives, or null if it is not an answer. Pure.
 * For one question: the option that the text names, or the text itself. For several: the text, as the answer to all. A
 * text that is too long for an event is not an answer; its turn can read all of it.
 */
export function parseAnswer(questions: readonly Question[], text: string): QuestionAnswer[] | null {
  const answer = text.trim();
  const [only] = questions;
  if (answer === "" || only === undefined) return null;
  const named = only.options.filter(({ label }) => label.trim().toLowerCase() === answer.toLowerCase());
  if (questions.length === 1 && named.length === 1)
    return named.map((option) => ({ question: only.id, selected: [option.id] }));
  const open = questions.find((question) => question.free_text);
  if (open === undefined || isJsonLongerThan(text, MAX_ANSWER_BYTES)) return null;
  return [{ question: open.id, selected: [], text }];
}

function questionsOf({ request }: Interaction): readonly Question[] {
  return (request as { readonly questions: readonly Question[] }).questions;
}

/** Returns what is wrong with the answers, or null. Pure. */
function problemOf(questions: readonly Question[], answers: readonly QuestionAnswer[]): string | null {
  const seen = new Set<string>();
  for (const { question: id, selected, text } of answers) {
    const question = questions.find((one) => one.id === id);
    if (question === undefined) return `there is no question ${id}`;
    if (seen.has(id)) return `question ${id} is answered twice`;
    seen.add(id);
    const unknown = selected.find((option) => !question.options.some((one) => one.id === option));
    if (unknown !== undefined) return `question ${id} has no option ${unknown}`;
    if (selected.length > 1 && !question.multiple) return `question ${id} accepts only one option`;
    if (text !== undefined && text !== "" && !question.free_text)
      return `question ${id} accepts no free text`;
    if (selected.length === 0 && (text ?? "") === "") return `question ${id} has no answer`;
  }
  const missing = questions.find(({ id }) => !seen.has(id));
  return missing === undefined ? null : `question ${missing.id} is not answered`;
}
