/** Tests how a plain message is interpreted as the answer to pending questions. */
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

test("W15 one question: the answer is the option that the text names, or the text", () => {
  expect(parseAnswer([day], " sunday ")).toEqual([{ question: "q1", selected: ["o2"] }]);
  expect(parseAnswer([day], "on Sunday")).toEqual([{ question: "q1", selected: [], text: "on Sunday" }]);
});

test("W15 a question without free text: a text that names no option is no answer", () => {
  expect(parseAnswer([strict], "SUNDAY")).toEqual([{ question: "q1", selected: ["o2"] }]);
  expect(parseAnswer([strict], "on Sunday")).toBeNull();
});

test("W15 several questions: the text answers the ones that take text, if there is one", () => {
  expect(parseAnswer([meals, day], "Sunday")).toEqual([{ question: "q1", selected: [], text: "Sunday" }]);
  expect(parseAnswer([meals, strict], "Dinner")).toBeNull();
});

test("W15 a text that doesn't fit into an event is no answer", () => {
  const long = "é".repeat(29_000);
  expect(parseAnswer([day], long)).toEqual([{ question: "q1", selected: [], text: long }]);
  expect(parseAnswer([day], `${long}${long}`)).toBeNull();
  expect(parseAnswer([day], "\n".repeat(31_000) + "so")).toBeNull();
});

test("a blank text is no answer, and a label of two options names neither", () => {
  expect(parseAnswer([day], "  ")).toBeNull();
  expect(parseAnswer([], "Sunday")).toBeNull();
  expect(parseAnswer([question("q1", ["Yes", "yes"], false)], "yes")).toBeNull();
});
