/** Checks that every statement of the documents has a proof that exists, and that `checkRows` finds wrong ones. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { measureCoverage } from "../coverage.ts";
import { REQUIREMENTS } from "../requirements.ts";
import { readTestSources } from "../support/test-sources.ts";
import { checkRows, describeRow, DOCUMENT_ROWS, readDifferences, type RowContext } from "./check-rows.ts";
import { difference, type DocumentRow, gateway, oneTest, pending, row, runtime } from "./document-row.ts";

const dialects = readFileSync(join(import.meta.dirname, "../../DIALECTS.md"), "utf8");
const context: RowContext = {
  requirements: REQUIREMENTS,
  coverage: measureCoverage(REQUIREMENTS, readTestSources()),
  differences: readDifferences(dialects),
};

describe("the rows of the documents", () => {
  test("are numbered without gaps", () => {
    const numbers = Object.values(DOCUMENT_ROWS).flatMap((rows) => rows.map(({ number }) => number));
    expect(numbers).toEqual(Array.from({ length: 272 }, (_, n) => n + 1));
  });

  test("each have a test at their level, a deliberate difference with a reason, or are pending", () => {
    expect(context.differences.size).toBeGreaterThan(5);
    expect(checkRows(DOCUMENT_ROWS, context)).toEqual([]);
  });
});

describe("describeRow", () => {
  // The ids are built here, so that this file does not cite them itself.
  const [ready, waiting, absent] = ["W", "H", "T"].map((letter) => `${letter}01`) as [string, string, string];
  const own: RowContext = {
    requirements: [
      { id: ready, text: "", levels: ["gateway"] },
      { id: waiting, text: "", levels: ["gateway"], pending: "not built" },
    ],
    coverage: {
      citedIn: (id, level) => (id === ready && level === "gateway" ? ["a.test.ts"] : []),
      titles: new Map([["a.test.ts", new Set(["works"])]]),
    },
    differences: new Map([
      ["color", "grey is easier to read"],
      ["size", ""],
    ]),
  };
  const about = (proof: DocumentRow["proof"]) => describeRow(row(1, "1", "", proof), own);

  test.each([
    [gateway(ready), "proved"],
    [runtime(ready), "wrong"],
    [gateway(waiting), "pending"],
    [gateway(absent), "wrong"],
    [oneTest("a.test.ts", "works"), "proved"],
    [oneTest("a.test.ts", "fails"), "wrong"],
    [oneTest("b.test.ts", "works"), "wrong"],
    [difference("color"), "different"],
    [difference("size"), "wrong"],
    [difference("weight"), "wrong"],
    [pending("not built"), "pending"],
  ])("%j is %s", (proof, state) => {
    expect(about(proof).state).toBe(state);
  });

  test("a difference that no row names is reported", () => {
    expect(checkRows({ "000": [row(1, "1", "", difference("color"))] }, own)).toEqual([
      'no row names the difference "size"',
    ]);
  });
});

test("readDifferences reads only the table under its heading", () => {
  const text = [
    "## 7. Differences",
    "| a | b |",
    "### Deliberate differences",
    "",
    "| topic | lines | Turnstream | reason |",
    "| --- | --- | --- | --- |",
    "| color | 000:1 | grey | easier to read |",
    "",
    "## 8. Next",
    "| topic | x | y | z |",
  ].join("\n");
  expect([...readDifferences(text)]).toEqual([["color", "easier to read"]]);
});
