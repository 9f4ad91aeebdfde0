/** What a person has chosen and written so far, question by question, and whether it is an answer. Pure. */
import type { QuestionAnswer, Question } from "@turnstream/protocol";

export interface Draft {
  readonly selected: readonly string[];
  readonly text: string;
}

/** By the question's id. */
export type Drafts = ReadonlyMap<string, Draft>;

const NOTHING: Draft = { selected: [], text: "" };

export function draftOf(drafts: Drafts, question: string): Draft {
  return drafts.get(question) ?? NOTHING;
}

/** Choosing again takes it back, where several can be chosen. */
export function choose(drafts: Drafts, { id, multiple }: Question, option: string): Drafts {
  const { selected, text } = draftOf(drafts, id);
  const others = selected.filter((one) => one !== option);
  const next = !multiple ? [option] : others.length < selected.length ? others : [...selected, option];
  return new Map(drafts).set(id, { selected: next, text });
}

export function write(drafts: Drafts, { id }: Question, text: string): Drafts {
  return new Map(drafts).set(id, { ...draftOf(drafts, id), text });
}

/** Null while a question has neither a choice nor a text. Choices in the order they were offered. */
export function answersOf(questions: readonly Question[], drafts: Drafts): QuestionAnswer[] | null {
  const answers = questions.map(({ id, options, free_text }): QuestionAnswer => {
    const { selected, text } = draftOf(drafts, id);
    const words = free_text ? text.trim() : "";
    const chosen = options.map((option) => option.id).filter((option) => selected.includes(option));
    return { question: id, selected: chosen, ...(words === "" ? {} : { text: words }) };
  });
  return answers.every(({ selected, text }) => selected.length > 0 || text !== undefined) ? answers : null;
}
