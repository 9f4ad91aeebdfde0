/** Tests the names that are suggested for misspelled ones. */
import { expect, test } from "vitest";
import { suggestName } from "../../src/util/suggest-name.ts";

test("suggests the name with the fewest different letters, and none if all differ too much", () => {
  const known = ["tools", "tokens", "title"];
  expect(suggestName("toolz", known)).toBe("tools");
  expect(suggestName("Tokens", known)).toBe("tokens");
  expect(suggestName("execute", known)).toBeNull();
});
