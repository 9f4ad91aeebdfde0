/** Share links: only what was signed with a known secret is read, and nothing that is nearly that. */
import { expect, test } from "vitest";

import { readShareToken, signShare } from "../../../src/store/rules/share-token.ts";

test("a link is read with any of the secrets that are good", () => {
  for (const id of ["share_1", "b7e1", "ü \u{1f600}"]) {
    const token = signShare(id, "old");
    expect(token).toMatch(/^[\w-]+[.][\w-]{43}$/);
    expect(readShareToken(token, ["new", "old"])).toBe(id);
    expect(readShareToken(token, ["new"])).toBeNull();
    expect(readShareToken(token, [])).toBeNull();
    expect(readShareToken(token, [""])).toBeNull();
  }
});

test("a changed character makes it void", () => {
  const token = signShare("share_1", "secret");
  for (let n = 0; n < token.length; n += 1)
    for (const other of ["A", "B", "_", ".", "\n"]) {
      const changed = token.slice(0, n) + other + token.slice(n + 1);
      expect(readShareToken(changed, ["secret"])).toBe(changed === token ? "share_1" : null);
    }
  for (const junk of ["", ".", "a.b", `${token}=`, ` ${token}`, token.repeat(50), "x".repeat(1_000_000)])
    expect(readShareToken(junk, ["secret"])).toBeNull();
});

test("an empty secret signs nothing", () => {
  expect(() => signShare("share_1", "")).toThrow(RangeError);
});
