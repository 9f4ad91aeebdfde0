/**
 * `useQuestionRequest` returns the questions of an agent and their actions, without any UI.
 * Invariant: `answer` sends nothing until every question has a choice or a text. Choices are sent in the order of the
 * options. Text is sent only if the question allows it.
 */
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
  /** Dismisses the questions. The agent continues without answers. */
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

/** The choices and the text that the user has entered for one question. */
interface Draft {
  readonly selected: readonly string[];
  readonly text: string;
}

/** By question id. */
export type Drafts = ReadonlyMap<string, Draft>;

const EMPTY_DRAFT: Draft = { selected: [], text: "" };

function getDraft(drafts: Drafts, question: string): Draft {
  return drafts.get(question) ?? EMPTY_DRAFT;
}

/** For multiple choice, choosing an option again removes it. */
export function toggleOption(drafts: Drafts, { id, multiple }: Question, option: string): Drafts {
  const { selected, text } = getDraft(drafts, id);
  const others = selected.filter((selectedId) => selectedId !== option);
  const next = !multiple ? [option] : others.length < selected.length ? others : [...selected, option];
  return new Map(drafts).set(id, { selected: next, text });
}

export function setText(drafts: Drafts, { id }: Question, text: string): Drafts {
  return new Map(drafts).set(id, { ...getDraft(drafts, id), text });
}

/** Returns null while a question has neither a choice nor a text. Choices are in the order of the options. */
export function toAnswers(questions: readonly Question[], drafts: Drafts): QuestionAnswer[] | null {
  const answers = questions.map(({ id, options, free_text }): QuestionAnswer => {
    const { selected, text } = getDraft(drafts, id);
    const freeText = free_text ? text.trim() : "";
    const chosen = options.map((option) => option.id).filter((option) => selected.includes(option));
    return { question: id, selected: chosen, ...(freeText === "" ? {} : { text: freeText }) };
  });
  return answers.every(({ selected, text }) => selected.length > 0 || text !== undefined) ? answers : null;
}
