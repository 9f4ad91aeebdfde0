/**
 * `formatAnswers` replaces the ids in a user's answers with the texts of the questions and options. Pure.
 *
 * Invariant: the result has one entry per answer, in the same order. An unknown id stays as it is.
 */
import type { QuestionAnswer, Question } from "@turnstream/protocol";

export function formatAnswers(
  questions: readonly Question[],
  answers: readonly QuestionAnswer[],
): { readonly question: string; readonly answer: string }[] {
  return answers.map(({ question: id, selected, text = "" }) => {
    const question = questions.find((candidate) => candidate.id === id);
    const chosen = selected.map(
      (option) => question?.options.find((candidate) => candidate.id === option)?.label ?? option,
    );
    return { question: question?.text ?? id, answer: [...chosen, ...(text === "" ? [] : [text])].join("; ") };
  });
}
