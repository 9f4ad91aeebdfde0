/** Tests that `runWithTimeLimit` interrupts endless work. */
import { describe, expect, test } from "vitest";
import { runWithTimeLimit } from "../../src/util/time-limit.ts";

/** So long that a busy machine runs a process at least once in this time. */
const LIMIT_MS = 50;

function burn(): never {
  for (let n = 0; ; n++) Math.sqrt(n);
}

describe("runWithTimeLimit", () => {
  test("returns the result, and throws the errors of the work without a second try", () => {
    expect(runWithTimeLimit(LIMIT_MS, () => "done")).toBe("done");
    let tries = 0;
    const fail = (): never => {
      tries++;
      throw new TypeError("wrong");
    };
    expect(() => runWithTimeLimit(LIMIT_MS, fail)).toThrow("wrong");
    expect(tries).toBe(1);
  });

  test("interrupts endless work, also in a regular expression", () => {
    expect(() => runWithTimeLimit(LIMIT_MS, burn)).toThrow(/timed out/);
    expect(() => runWithTimeLimit(LIMIT_MS, () => /^(x+x+)+y$/.test("x".repeat(40)))).toThrow(/timed out/);
  });
});
