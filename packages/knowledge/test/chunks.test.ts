/** Tests how the texts of objects are split into lines and chunks. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { chunksOf, linesOf } from "../src/store/knowledge-part.ts";

test("chunks contain every line once, in order, and none is long", async () => {
  const someParts = fc.array(fc.string({ unit: "binary", maxLength: 3_000 }), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(someParts, async (parts) => {
      const lines = await linesOf(parts.join("\n"));
      const chunks = await chunksOf({ title: "t", lines });
      expect(chunks.flatMap(({ text }) => text.split("\n"))).toEqual(lines);
      let next = 1;
      for (const { firstLine, lastLine } of chunks) {
        expect(firstLine).toBe(next);
        next = lastLine + 1;
      }
      expect(next).toBe(lines.length + 1);
      expect(lines.every((line) => line.length <= 1_000)).toBe(true);
      expect(chunks.every(({ text }) => text.length <= 4_000)).toBe(true);
    }),
    { numRuns: 500 },
  );
});
