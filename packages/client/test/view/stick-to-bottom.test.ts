/** Tests `stepStickToBottom`: when a thread stays scrolled to its end. */
import { describe, expect, test } from "vitest";
import {
  type StickToBottomState,
  stepStickToBottom,
  STUCK_TO_BOTTOM,
  type StickToBottomInput,
} from "../../src/view/stick-to-bottom.ts";

const at = (top: number, height: number) => ({ top, height, visible: 100 });

function after(
  inputs: readonly StickToBottomInput[],
  start: StickToBottomState = STUCK_TO_BOTTOM,
): StickToBottomState {
  let state = start;
  for (const input of inputs) ({ state } = stepStickToBottom(state, input));
  return state;
}

const AT_END = after([
  { type: "resized", at: at(0, 500) },
  { type: "scrolled", at: at(400, 500) },
]);

describe("stepStickToBottom", () => {
  test("moves to the end when the content grows while following", () => {
    expect(stepStickToBottom(AT_END, { type: "resized", at: at(400, 600) })).toMatchObject({
      moveToEnd: true,
      state: { isAtBottom: true },
    });
  });

  test("stops following after any scroll up, and then never moves the thread", () => {
    const left = after([{ type: "scrolled", at: at(390, 500) }], AT_END);
    expect(left.isAtBottom).toBe(false);
    expect(stepStickToBottom(left, { type: "resized", at: at(390, 900) })).toMatchObject({
      moveToEnd: false,
      state: { isAtBottom: false },
    });
  });

  test("stops following after the smallest scroll up, also while the answer grows", () => {
    for (const leave of [[{ type: "left" } as const], []]) {
      const left = after([...leave, { type: "scrolled", at: at(399, 500) }], AT_END);
      expect(left.isAtBottom).toBe(false);
      expect(stepStickToBottom(left, { type: "resized", at: at(399, 520) }).moveToEnd).toBe(false);
    }
  });

  test("keeps following when the window becomes taller, or after a change of half a pixel", () => {
    const taller = { top: 350, height: 500, visible: 150 };
    expect(after([{ type: "scrolled", at: taller }], AT_END).isAtBottom).toBe(true);
    expect(after([{ type: "scrolled", at: at(399.6, 500) }], AT_END).isAtBottom).toBe(true);
  });

  test("keeps following when content above collapses and the position decreases with it", () => {
    expect(after([{ type: "scrolled", at: at(200, 320) }], AT_END).isAtBottom).toBe(true);
  });

  test("follows again when the user is at the end, or requests it", () => {
    const left = after([{ type: "left" }], AT_END);
    expect(left.isAtBottom).toBe(false);
    const above = after([{ type: "scrolled", at: at(300, 500) }], left);
    expect(after([{ type: "scrolled", at: at(399, 500) }], above).isAtBottom).toBe(true);
    expect(stepStickToBottom(left, { type: "to_end" })).toMatchObject({
      moveToEnd: true,
      state: { isAtBottom: true },
    });
  });

  test("follows again after the user expanded something, if all content still fits", () => {
    const left = after([{ type: "left" }], AT_END);
    expect(stepStickToBottom(left, { type: "resized", at: at(0, 90) })).toMatchObject({
      moveToEnd: false,
      state: { isAtBottom: true },
    });
  });
});
