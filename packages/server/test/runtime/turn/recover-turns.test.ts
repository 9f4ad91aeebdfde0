/** Tests when a turn counts as one in which a tool ran. */
import type { Turn } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { hasOpenTool } from "../../../src/runtime/turn/recover-turns.ts";

function turnWith(items: readonly object[], runs: readonly object[] = []): Turn {
  const sequence = Object.assign([...items], { toArray: () => [...items] });
  return { items: sequence, runs: [{ call: null }, ...runs] } as unknown as Turn;
}

const call = { kind: "tool_call", call: "c1", end: 2 };
const open = { kind: "tool_result", call: "c1", end: null };
const form = { kind: "form", call: "c1", version: 1 };

test("a tool ran if a result is open", () => {
  expect(hasOpenTool(turnWith([call]))).toBe(false);
  expect(hasOpenTool(turnWith([call, open]))).toBe(true);
  expect(hasOpenTool(turnWith([call, { ...open, end: 3 }]))).toBe(false);
});

test("no tool ran if the call waited for its sub-agent or for the user", () => {
  expect(hasOpenTool(turnWith([call, open], [{ call: "c1" }]))).toBe(false);
  expect(hasOpenTool(turnWith([call, open], [{ call: "c2" }]))).toBe(true);
  expect(hasOpenTool(turnWith([call, open, { ...form, status: "pending" }]))).toBe(false);
  expect(hasOpenTool(turnWith([call, open, { ...form, status: "submitted" }]))).toBe(true);
});
