/** Tests how the lines of an app look in a terminal. */
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { formatLine } from "../src/run-app.ts";
import { createStyles } from "../src/styles.ts";

const PLAIN = createStyles(false);
const LONG =
  "09:05:07 error in turn 8f2c: The model provider rejects the API key. Cause: Anthropic API key is missing.";

test("a line fits a narrow terminal, and continues below its text", () => {
  const lines = formatLine(LONG, 60, PLAIN).split("\n");
  expect(lines.every((line) => line.length <= 60)).toBe(true);
  expect(lines[1]).toMatch(/^ {9}\S/);
  expect(lines.map((line) => line.trim()).join(" ")).toBe(LONG);
});

test("a line without a terminal, and a stack, stay whole", () => {
  expect(formatLine(LONG, null, PLAIN)).toBe(LONG);
  const stack = `Error: ${"long ".repeat(30)}\n    at turn`;
  expect(formatLine(stack, 60, PLAIN)).toBe(stack);
});

test("colors change no text", () => {
  const colored = formatLine(LONG, null, createStyles(true));
  expect(colored).toContain("\u001b[31m");
  expect(stripVTControlCharacters(colored)).toBe(LONG);
});
