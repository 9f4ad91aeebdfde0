/**
 * Checks that tests prove every requirement at all its levels unless it is pending, and that `measureCoverage` finds
 * missing levels.
 */
import { describe, expect, test } from "vitest";

import { measureCoverage } from "./coverage.ts";
import { findLevel } from "./levels.ts";
import { type Requirement, REQUIREMENTS } from "./requirements.ts";
import { readTestSources } from "./support/test-sources.ts";

const sources = readTestSources();
const coverage = measureCoverage(REQUIREMENTS, sources);

const range = (letter: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${letter}${String(n + 1).padStart(2, "0")}`);

describe("the numbered requirements", () => {
  test("are complete, unique and in order", () => {
    const ids = [
      ...range("W", 23),
      ...range("H", 7),
      ...range("T", 10),
      ...range("S", 13),
      ...range("U", 13),
    ];
    expect(REQUIREMENTS.map(({ id }) => id)).toEqual(ids);
  });

  test("are compared with the tests of all packages", () => {
    expect(sources.map(({ path }) => path)).toContain("conformance/coverage.test.ts");
    expect(sources.some(({ path }) => path.startsWith("packages/protocol/test/"))).toBe(true);
  });

  test("are each proved at every level, unless pending", () => {
    expect(coverage.missing).toEqual([]);
  });

  test("include every id that a test cites", () => {
    expect(coverage.unknown).toEqual([]);
  });

  test("have at least one level, and a pending one is not proved already", () => {
    expect(REQUIREMENTS.filter(({ levels }) => levels.length === 0)).toEqual([]);
    expect(coverage.provedButPending).toEqual([]);
  });
});

test("every test file has a level, and a file in an unknown folder is reported", () => {
  for (const { path } of sources) expect(findLevel(path)).toEqual(expect.any(String));
  expect(() => findLevel("elsewhere/a.test.ts")).toThrow("elsewhere/a.test.ts");
});

// The ids are built here, so that this file does not cite them itself.
const id = (number: number) => `W${String(number).padStart(2, "0")}`;

describe("measureCoverage", () => {
  const requirements: readonly Requirement[] = [
    { id: id(1), text: "", levels: ["encoder"] },
    { id: id(2), text: "", levels: ["encoder"] },
    { id: id(3), text: "", levels: ["encoder", "screen"], pending: "not built" },
  ];
  const PURE = "conformance/a.test.ts";
  const compare = (text: string, path = PURE) => measureCoverage(requirements, [{ path, text }]);
  const BOTH = [`${id(1)} at encoder`, `${id(2)} at encoder`];

  test("finds a requirement that no test cites, and accepts a pending one", () => {
    expect(compare(`test("${id(1)} holds", () => {});`).missing).toEqual([`${id(2)} at encoder`]);
    expect(compare("").missing).toEqual(BOTH);
  });

  test("a test of another level proves nothing at this one", () => {
    const text = `test("${id(1)} ${id(2)}", f);`;
    expect(compare(text).missing).toEqual([]);
    expect(compare(text, "browser/a.browser.test.ts").missing).toEqual(BOTH);
  });

  test("finds a pending requirement that has a test at every level", () => {
    const text = `test("${id(3)} holds", f);`;
    expect(compare(text).provedButPending).toEqual([]);
    const both = [
      { path: PURE, text },
      { path: "gallery/a.browser.test.ts", text },
    ];
    expect(measureCoverage(requirements, both).provedButPending).toEqual([id(3)]);
  });

  test("finds an id that is no requirement", () => {
    expect(compare(`it("${id(9)} holds", () => {});`).unknown).toEqual([`${id(9)} in ${PURE}`]);
  });

  test("lists each file once for an id", () => {
    const text = `test("${id(1)} a", f); test("${id(1)} b", f);`;
    const twice = measureCoverage(requirements, [
      { path: PURE, text },
      { path: "conformance/b.test.ts", text },
    ]);
    expect(twice.citedIn(id(1), "encoder")).toEqual([PURE, "conformance/b.test.ts"]);
  });

  test.each([
    ["a title in double quotes", `test("${id(1)} ${id(2)}", f)`],
    ["single quotes", `it('${id(1)}, ${id(2)}', f)`],
    ["a template", `describe(\`${id(1)} \${x} ${id(2)}\`, f)`],
    ["a list of cases", `test.each([[1], [2]])("${id(1)} (%s) ${id(2)}", f)`],
    ["a variant", `test.only("${id(1)}/${id(2)}", f)`],
    ["tests inside another", `describe("x", () => { test("${id(1)}", f); it("${id(2)}", f); });`],
  ])("reads %s", (_, text) => {
    expect(compare(text).missing).toEqual([]);
  });

  test.each([
    ["a comment", `// test("${id(1)} ${id(2)}", f)`],
    ["a string that is no title", `test("x", () => "${id(1)} ${id(2)}")`],
    ["a call of something else", `expect("${id(1)} ${id(2)}")`],
    ["a test that never runs", `test.skip("${id(1)}", f); test.todo("${id(2)}")`],
    ["an id inside a longer name", `test("X${id(1)} ${id(2)}9", f)`],
  ])("ignores %s", (_, text) => {
    const { missing, unknown } = compare(text);
    expect({ missing, unknown }).toEqual({ missing: BOTH, unknown: [] });
  });
});
