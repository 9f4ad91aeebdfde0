/** Tests share tokens: only tokens that were signed with a known secret are accepted. */
import { expect, test } from "vitest";

import { readShareToken, signShare } from "../../../src/store/rules/share-token.ts";

test("accepts a link that was signed with any of the valid secrets", () => {
  for (const id of ["share_1", "b7e1", "ü \u{1f600}"]) {
    const token = signShare(id, "old");
    expect(token).toMatch(/^[\w-]+[.][\w-]{43}$/);
    expect(readShareToken(token, ["new", "old"])).toBe(id);
    expect(readShareToken(token, ["new"])).toBeNull();
    expect(readShareToken(token, [])).toBeNull();
    expect(readShareToken(token, [""])).toBeNull();
  }
});

test("refuses a link with a changed character", () => {
  const token = signShare("share_1", "secret");
  for (let n = 0; n < token.length; n += 1)
    for (const other of ["A", "B", "_", ".", "\n"]) {
      const changed = token.slice(0, n) + other + token.slice(n + 1);
      expect(readShareToken(changed, ["secret"])).toBe(changed === token ? "share_1" : null);
    }
  for (const junk of ["", ".", "a.b", `${token}=`, ` ${token}`, token.repeat(50), "x".repeat(1_000_000)])
    expect(readShareToken(junk, ["secret"])).toBeNull();
});

test("refuses to sign with an empty secret", () => {
  expect(() => signShare("share_1", "")).toThrow(RangeError);
});
