/**
 * `createQuestionStore` holds the answers to the questions of an agent while the user enters them.
 * Invariant: `answer` sends nothing until every question has a choice or a text. Choices are sent in the order of the
 * options. Text is sent only if the question allows it.
 */
import type { Question, QuestionAnswer, QuestionBlock } from "@turnstream/protocol";
import type { Session } from "../session/session.ts";
import { createValueStore, type ReadableStore } from "./value-store.ts";

/** What the user has entered for one question. */
export interface AnswerDraft {
  readonly selected: readonly string[];
  readonly text: string;
}

export interface QuestionView {
  readonly getDraft: (question: string) => AnswerDraft;
  /** Whether every question has a choice or a text. */
  readonly canAnswer: boolean;
}

export interface QuestionStore extends ReadableStore<QuestionView> {
  /** For multiple choice, choosing an option again removes it. */
  readonly toggleOption: (question: Question, option: string) => void;
  readonly setText: (question: Question, text: string) => void;
  /** Sends the answers if `canAnswer` is true. */
  readonly answer: () => Promise<void>;
  /** Dismisses the questions. The agent continues without answers. */
  readonly dismiss: (reason?: string) => Promise<void>;
}

const EMPTY_DRAFT: AnswerDraft = { selected: [], text: "" };

export function createQuestionStore(
  session: Pick<Session, "answerQuestion" | "dismissQuestion">,
  { key, questions }: Pick<QuestionBlock, "key" | "questions">,
): QuestionStore {
  let drafts: ReadonlyMap<string, AnswerDraft> = new Map();
  const read = (seen: typeof drafts): QuestionView => ({
    getDraft: (question) => seen.get(question) ?? EMPTY_DRAFT,
    canAnswer: toAnswers(questions, seen) !== null,
  });
  const { get, set, subscribe } = createValueStore(read(drafts));
  const change = ({ id }: Question, changes: Partial<AnswerDraft>): void => {
    drafts = new Map(drafts).set(id, { ...get().getDraft(id), ...changes });
    set(read(drafts));
  };
  return {
    get,
    subscribe,
    toggleOption(question, option) {
      const { selected } = get().getDraft(question.id);
      const others = selected.filter((one) => one !== option);
      if (!question.multiple) change(question, { selected: [option] });
      else change(question, { selected: others.length < selected.length ? others : [...selected, option] });
    },
    setText: (question, text) => change(question, { text }),
    async answer() {
      const answers = toAnswers(questions, drafts);
      if (answers !== null) await session.answerQuestion(key, answers);
    },
    dismiss: (reason) => session.dismissQuestion(key, reason),
  };
}

/** Returns null while a question has neither a choice nor a text. */
function toAnswers(
  questions: readonly Question[],
  drafts: ReadonlyMap<string, AnswerDraft>,
): QuestionAnswer[] | null {
  const answers = questions.map(({ id, options, free_text }): QuestionAnswer => {
    const { selected, text } = drafts.get(id) ?? EMPTY_DRAFT;
    const freeText = free_text ? text.trim() : "";
    const chosen = options.map((option) => option.id).filter((option) => selected.includes(option));
    return { question: id, selected: chosen, ...(freeText === "" ? {} : { text: freeText }) };
  });
  return answers.every(({ selected, text }) => selected.length > 0 || text !== undefined) ? answers : null;
}

/** Returns the given answer to a question as text, with the labels of the chosen options; "" if there is none. */
export function formatAnswer({ id, options }: Question, answers: readonly QuestionAnswer[] | null): string {
  const { selected = [], text } = answers?.find(({ question }) => question === id) ?? {};
  const chosen = selected.map((one) => options.find((option) => option.id === one)?.label ?? one);
  return [...chosen, ...(text === undefined ? [] : [text])].join(", ");
}
