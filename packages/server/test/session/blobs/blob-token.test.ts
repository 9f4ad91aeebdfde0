/**
 * Tests blob tokens: only tokens that were signed with a known secret are accepted, and a token is stable for a while.
 */
import { expect, test } from "vitest";
import { createBlobUrls, blobUrlExpiry } from "../../../src/session/blobs/blob-url.ts";
import { readBlobToken, signBlob } from "../../../src/session/blobs/blob-token.ts";
import { formatShareToken } from "../../../src/store/shares.ts";

const GRANT = { tenant: "t", session: "s", blob: "ü \u{1f600}/[1]", expires: 1_000 };

test("accepts a token that was signed with any of the valid secrets", () => {
  const token = signBlob(GRANT, "old");
  expect(token).toMatch(/^[\w-]+[.][\w-]{43}$/);
  expect(readBlobToken(token, ["new", "old"])).toEqual(GRANT);
  for (const secrets of [["new"], [], [""]]) expect(readBlobToken(token, secrets)).toBeNull();
  expect(() => signBlob(GRANT, "")).toThrow(RangeError);
});

test("refuses a token with a changed character, and a signature of a share", () => {
  const token = signBlob(GRANT, "secret");
  for (let n = 0; n < token.length; n += 1)
    for (const other of ["A", "B", "_", ".", "\n"]) {
      const changed = token.slice(0, n) + other + token.slice(n + 1);
      if (changed !== token) expect(readBlobToken(changed, ["secret"]), changed).toBeNull();
    }
  const share = formatShareToken({ id: JSON.stringify(["t", "s", "b", 9e15]), key: "secret" });
  for (const junk of ["", ".", "a.b", `${token}=`, ` ${token}`, share, "x".repeat(1_000_000)])
    expect(readBlobToken(junk, ["secret"])).toBeNull();
});

test("returns the same address for half its lifetime, and each is valid for at least its whole lifetime", () => {
  const life = 60_000;
  const given = new Set<string>();
  for (let now = 1_000_000; now < 1_300_000; now += 500) {
    const expires = blobUrlExpiry(now, life);
    expect(expires - now).toBeGreaterThan(life);
    expect(expires - now).toBeLessThanOrEqual(life * 1.5);
    given.add(
      createBlobUrls({ tenant: "t", session: "s" }, { base: "/", secret: "x", now, lifeMs: life })("b"),
    );
  }
  // Five minutes, in steps of thirty seconds.
  expect(given.size).toBeLessThanOrEqual(11);
});
