/** Questions of the agent without their looks: what is asked, what is chosen so far, and how to answer. */
import { useState } from "react";
import { isPending, type Question, type QuestionAnswer, type QuestionBlock } from "@turnstream/protocol";
import { useShared } from "../context.ts";
import { useBlock } from "../hooks/use-turn.ts";
import { type CommandState, useCardCommand } from "./use-card-action.ts";

export interface QuestionView extends CommandState {
  readonly block: QuestionBlock;
  readonly isPending: boolean;
  readonly draftOf: (question: string) => Draft;
  readonly choose: (question: Question, option: string) => void;
  readonly write: (question: Question, text: string) => void;
  /** Whether every question has a choice or a text. */
  readonly canAnswer: boolean;
  readonly answer: () => void;
  /** It won't be answered; the agent goes on without. */
  readonly dismiss: (reason?: string) => void;
}

const NO_DRAFTS: Drafts = new Map();

export function useQuestion(turn: string, index: number): QuestionView | null {
  const { session } = useShared();
  const block = useBlock(turn, index, "question");
  const [drafts, setDrafts] = useState(NO_DRAFTS);
  const { run, isSending, problem } = useCardCommand();
  if (block === null) return null;
  const answers = answersOf(block.questions, drafts);
  return {
    block,
    isPending: isPending(block),
    isSending,
    problem,
    draftOf: (question) => draftOf(drafts, question),
    choose: (question, option) => setDrafts((now) => choose(now, question, option)),
    write: (question, text) => setDrafts((now) => write(now, question, text)),
    canAnswer: answers !== null,
    answer: () => {
      if (answers !== null) run(() => session.answerQuestion(block.key, answers));
    },
    dismiss: (reason) => run(() => session.dismissQuestion(block.key, reason)),
  };
}

/** What a person has chosen and written so far, question by question, and whether it is an answer. Pure. */
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
