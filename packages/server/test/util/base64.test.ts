/** Tests `isBase64`, also with texts that are longer than one slice. */
import { describe, expect, it } from "vitest";
import { isBase64 } from "../../src/util/base64.ts";

const LONG = "A".repeat(50_000);

describe("isBase64", () => {
  it.each(["", "iVBORw==", "PHN2Zz4=", "AAAA", "+/09azAZ", LONG, `${LONG}=`, `${LONG}==`])(
    "accepts %.20s",
    (text) => {
      expect(isBase64(text)).toBe(true);
    },
  );

  it.each([
    "=",
    "==",
    "A===",
    "A=A",
    "A A",
    "A-_",
    "é",
    "A\n",
    "Ł",
    `${LONG}-`,
    `-${LONG}`,
    `${LONG}=${LONG}`,
  ])("refuses %.20s", (text) => {
    expect(isBase64(text)).toBe(false);
  });

  it("accepts 30 million characters while the garbage collector works", () => {
    const text = "A".repeat(30_000_000);
    for (let round = 0; round < 5; round++) {
      expect(isBase64(text)).toBe(true);
      // Garbage makes the collector interrupt the next round.
      Array.from({ length: 200_000 }, (_, index) => ({ index }));
    }
  });
});
