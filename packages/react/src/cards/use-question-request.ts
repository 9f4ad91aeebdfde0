/**
 * `useQuestionRequest` returns the questions of an agent and their actions, without any UI.
 * Invariant: `createQuestionStore` enforces the rules of answers.
 */
import { type AnswerDraft, createQuestionStore, type QuestionView } from "@turnstream/client/view";
import { isPending, type Question, type QuestionBlock } from "@turnstream/protocol";
import { useMemo } from "react";
import { useThreadContext } from "../context.ts";
import { useBlock } from "../hooks/use-turn.ts";
import { type ActionState, useCardAction, useReadableStore } from "./use-card-action.ts";

export interface QuestionRequest extends ActionState {
  readonly block: QuestionBlock;
  readonly isPending: boolean;
  readonly getDraft: (question: string) => AnswerDraft;
  readonly toggleOption: (question: Question, option: string) => void;
  readonly setText: (question: Question, text: string) => void;
  /** Whether every question has a choice or a text. */
  readonly canAnswer: boolean;
  readonly answer: () => void;
  /** Dismisses the questions. The agent continues without answers. */
  readonly dismiss: (reason?: string) => void;
}

const ABSENT: QuestionView = { getDraft: () => ({ selected: [], text: "" }), canAnswer: false };

export function useQuestionRequest(turnId: string, blockIndex: number): QuestionRequest | null {
  const { session } = useThreadContext();
  const block = useBlock(turnId, blockIndex, "question");
  const { run, isSending, problem } = useCardAction();
  // A new snapshot has other objects for the same questions.
  const store = useMemo(
    () => (block === null ? null : createQuestionStore(session, block)),
    [session, block?.key],
  );
  const { getDraft, canAnswer } = useReadableStore(store, ABSENT);
  if (block === null || store === null) return null;
  return {
    block,
    isPending: isPending(block),
    isSending,
    problem,
    getDraft,
    toggleOption: store.toggleOption,
    setText: store.setText,
    canAnswer,
    answer: () => {
      if (canAnswer) run(store.answer);
    },
    dismiss: (reason) => run(() => store.dismiss(reason)),
  };
}
