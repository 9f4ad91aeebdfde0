/** Tests share tokens: a token is valid for one share only, and no other text is. */
import { expect, test } from "vitest";

import { formatShareToken, isShareToken, readShareId } from "../../../src/store/shares.ts";

test("a token names its share, and only the key of that share signs it", () => {
  for (const id of ["share_1", "b7e1", "ü \u{1f600}"]) {
    const share = { id, key: "key" };
    const token = formatShareToken(share);
    expect(token).toMatch(/^[\w-]+[.][\w-]{43}$/);
    expect(readShareId(token)).toBe(id);
    expect(isShareToken(token, share)).toBe(true);
    for (const key of ["other", ""]) expect(isShareToken(token, { id, key })).toBe(false);
    expect(isShareToken(token, { id: "other", key: "key" })).toBe(false);
  }
});

test("refuses a link with a changed character", () => {
  const share = { id: "share_1", key: "key" };
  const token = formatShareToken(share);
  for (let n = 0; n < token.length; n += 1)
    for (const other of ["A", "B", "_", ".", "\n"]) {
      const changed = token.slice(0, n) + other + token.slice(n + 1);
      expect(isShareToken(changed, share)).toBe(changed === token);
    }
  for (const junk of ["", ".", "a.b", `${token}=`, ` ${token}`, token.repeat(50), "x".repeat(1_000_000)])
    expect(isShareToken(junk, share)).toBe(false);
  for (const junk of ["", ".", "Li4.x", "x".repeat(1_000_000)]) expect(readShareId(junk)).toBeNull();
});

test("refuses to sign with an empty key", () => {
  expect(() => formatShareToken({ id: "share_1", key: "" })).toThrow(RangeError);
});
