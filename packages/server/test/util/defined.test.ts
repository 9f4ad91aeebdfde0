/** Tests that only properties that are undefined are left out. */
import { expect, test } from "vitest";
import { defined } from "../../src/util/defined.ts";

test("leaves out what is undefined, and nothing else", () => {
  const fields = defined({ none: undefined, zero: 0, empty: "", no: false, nothing: null });
  expect(Object.keys(fields)).toEqual(["zero", "empty", "no", "nothing"]);
});
