/** What a plain message is to the questions that wait. */
import { expect, test } from "vitest";
import { parseAnswer } from "../../../src/session/interactions/answer-question.ts";

const question = (id: string, labels: readonly string[], free_text: boolean) => ({
  id,
  text: `${id}?`,
  options: labels.map((label, n) => ({ id: `o${n + 1}`, label })),
  multiple: false,
  free_text,
});
const day = question("q1", ["Saturday", "Sunday"], true);
const strict = question("q1", ["Saturday", "Sunday"], false);
const meals = question("q2", ["Dinner"], false);

test("W15 to one question it is the option that it names, or its text", () => {
  expect(parseAnswer([day], " sunday ")).toEqual([{ question: "q1", selected: ["o2"] }]);
  expect(parseAnswer([day], "on Sunday")).toEqual([{ question: "q1", selected: [], text: "on Sunday" }]);
});

test("W15 to a question that takes no text, what names no option is no answer", () => {
  expect(parseAnswer([strict], "SUNDAY")).toEqual([{ question: "q1", selected: ["o2"] }]);
  expect(parseAnswer([strict], "on Sunday")).toBeNull();
});

test("W15 to several it is one text for all, if one of them takes text", () => {
  expect(parseAnswer([meals, day], "Sunday")).toEqual([{ question: "q1", selected: [], text: "Sunday" }]);
  expect(parseAnswer([meals, strict], "Dinner")).toBeNull();
});

test("W15 a text is an answer as a whole, or where no event could hold it, none", () => {
  const long = "é".repeat(29_000);
  expect(parseAnswer([day], long)).toEqual([{ question: "q1", selected: [], text: long }]);
  expect(parseAnswer([day], `${long}${long}`)).toBeNull();
  expect(parseAnswer([day], "\n".repeat(31_000) + "so")).toBeNull();
});

test("what says nothing is no answer, and one label for two options names none", () => {
  expect(parseAnswer([day], "  ")).toBeNull();
  expect(parseAnswer([], "Sunday")).toBeNull();
  expect(parseAnswer([question("q1", ["Yes", "yes"], false)], "yes")).toBeNull();
});
