/** Tests `createQuestionStore`, as a page without React uses it. */
import type { Question } from "@turnstream/protocol";
import { expect, test, vi } from "vitest";
import type { Session } from "../../src/session/session.ts";
import { createQuestionStore, formatAnswer, type QuestionView } from "../../src/view/question-store.ts";

const one: Question = {
  id: "q1",
  text: "When?",
  options: [
    { id: "a", label: "Now" },
    { id: "b", label: "Later" },
  ],
  multiple: false,
  free_text: false,
};
const many: Question = { ...one, id: "q2", multiple: true, free_text: true };

function ask(...questions: Question[]) {
  const answerQuestion = vi.fn<Session["answerQuestion"]>();
  const dismissQuestion = vi.fn<Session["dismissQuestion"]>();
  const store = createQuestionStore({ answerQuestion, dismissQuestion }, { key: "k", questions });
  return { store, answerQuestion, dismissQuestion };
}

test("a single choice replaces the previous one; multiple choices can be removed again", async () => {
  const { store, answerQuestion } = ask(one, many);
  store.toggleOption(one, "a");
  store.toggleOption(one, "b");
  for (const option of ["b", "a", "b", "b"]) store.toggleOption(many, option);
  await store.answer();
  expect(answerQuestion).toHaveBeenCalledExactlyOnceWith("k", [
    { question: "q1", selected: ["b"] },
    // In the order of the options, not of the presses.
    { question: "q2", selected: ["a", "b"] },
  ]);
});

test("nothing is sent until every question has a choice or a text that is not blank", async () => {
  const { store, answerQuestion } = ask(one, many);
  store.toggleOption(one, "a");
  store.setText(many, "  ");
  expect(store.get().canAnswer).toBe(false);
  await store.answer();
  expect(answerQuestion).not.toHaveBeenCalled();
  store.setText(many, " ok ");
  expect(store.get().canAnswer).toBe(true);
  await store.answer();
  expect(answerQuestion).toHaveBeenCalledExactlyOnceWith("k", [
    { question: "q1", selected: ["a"] },
    { question: "q2", selected: [], text: "ok" },
  ]);
});

test("a text is no answer if the question doesn't ask for one", () => {
  const { store } = ask(one);
  store.setText(one, "not offered");
  expect(store.get().canAnswer).toBe(false);
});

test("a listener gets the value at once and a new one at each change, and an old value stays as it was", () => {
  const { store } = ask(one);
  const views: QuestionView[] = [];
  const unsubscribe = store.subscribe((view) => views.push(view));
  store.toggleOption(one, "a");
  unsubscribe();
  store.toggleOption(one, "b");
  expect(views.map(({ getDraft }) => getDraft("q1").selected)).toEqual([[], ["a"]]);
});

test("the user can dismiss the questions", async () => {
  const { store, dismissQuestion } = ask(one);
  await store.dismiss("later");
  expect(dismissQuestion).toHaveBeenCalledExactlyOnceWith("k", "later");
});

test("a given answer is shown with the labels of its options", () => {
  const answers = [{ question: "q2", selected: ["a", "removed"], text: "at nine" }];
  expect(formatAnswer(many, answers)).toBe("Now, removed, at nine");
  expect(formatAnswer(one, answers)).toBe("");
  expect(formatAnswer(one, null)).toBe("");
});
