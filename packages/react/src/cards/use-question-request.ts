/** Questions of the agent without their looks: what is asked, what is chosen so far, and how to answer. */
import { isPending, type Question, type QuestionBlock } from "@turnstream/protocol";
import { useState } from "react";
import { useShared } from "../context.ts";
import { useBlock } from "../hooks/use-turn.ts";
import { answersOf, choose, type Draft, draftOf, type Drafts, write } from "./question-answers.ts";
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
      if (answers !== null) run(() => session.answer(block.key, answers));
    },
    dismiss: (reason) => run(() => session.dismiss(block.key, reason)),
  };
}
