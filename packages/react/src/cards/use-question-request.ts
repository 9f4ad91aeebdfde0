/** Questions of the agent without their looks: what is asked, what is chosen so far, and how to answer. */
import { useState } from "react";
import { isPending, type Question, type QuestionAnswer, type QuestionBlock } from "@turnstream/protocol";
import { useThreadContext } from "../context.ts";
import { useBlock } from "../hooks/use-turn.ts";
import { type ActionState, useCardAction } from "./use-card-action.ts";

export interface QuestionRequest extends ActionState {
  readonly block: QuestionBlock;
  readonly isPending: boolean;
  readonly getDraft: (question: string) => Draft;
  readonly toggleOption: (question: Question, option: string) => void;
  readonly setText: (question: Question, text: string) => void;
  /** Whether every question has a choice or a text. */
  readonly canAnswer: boolean;
  readonly answer: () => void;
  /** It won't be answered; the agent goes on without. */
  readonly dismiss: (reason?: string) => void;
}

const NO_DRAFTS: Drafts = new Map();

export function useQuestionRequest(turnId: string, blockIndex: number): QuestionRequest | null {
  const { session } = useThreadContext();
  const block = useBlock(turnId, blockIndex, "question");
  const [drafts, setDrafts] = useState(NO_DRAFTS);
  const { run, isSending, problem } = useCardAction();
  if (block === null) return null;
  const answers = toAnswers(block.questions, drafts);
  return {
    block,
    isPending: isPending(block),
    isSending,
    problem,
    getDraft: (question) => getDraft(drafts, question),
    toggleOption: (question, option) => setDrafts((now) => toggleOption(now, question, option)),
    setText: (question, text) => setDrafts((now) => setText(now, question, text)),
    canAnswer: answers !== null,
    answer: () => {
      if (answers !== null) run(() => session.answerQuestion(block.key, answers));
    },
    dismiss: (reason) => run(() => session.dismissQuestion(block.key, reason)),
  };
}

/** What a person has chosen and written so far, question by question, and whether it is an answer. Pure. */
interface Draft {
  readonly selected: readonly string[];
  readonly text: string;
}

/** By the question's id. */
export type Drafts = ReadonlyMap<string, Draft>;

const EMPTY_DRAFT: Draft = { selected: [], text: "" };

function getDraft(drafts: Drafts, question: string): Draft {
  return drafts.get(question) ?? EMPTY_DRAFT;
}

/** Choosing again takes it back, where several can be chosen. */
export function toggleOption(drafts: Drafts, { id, multiple }: Question, option: string): Drafts {
  const { selected, text } = getDraft(drafts, id);
  const others = selected.filter((selectedId) => selectedId !== option);
  const next = !multiple ? [option] : others.length < selected.length ? others : [...selected, option];
  return new Map(drafts).set(id, { selected: next, text });
}

export function setText(drafts: Drafts, { id }: Question, text: string): Drafts {
  return new Map(drafts).set(id, { ...getDraft(drafts, id), text });
}

/** Null while a question has neither a choice nor a text. Choices in the order they were offered. */
export function toAnswers(questions: readonly Question[], drafts: Drafts): QuestionAnswer[] | null {
  const answers = questions.map(({ id, options, free_text }): QuestionAnswer => {
    const { selected, text } = getDraft(drafts, id);
    const freeText = free_text ? text.trim() : "";
    const chosen = options.map((option) => option.id).filter((option) => selected.includes(option));
    return { question: id, selected: chosen, ...(freeText === "" ? {} : { text: freeText }) };
  });
  return answers.every(({ selected, text }) => selected.length > 0 || text !== undefined) ? answers : null;
}
