/** Checks that a test cites every requirement that is not pending, and that `coverageOf` finds missing citations. */
import { describe, expect, test } from "vitest";

import { coverageOf } from "./coverage.ts";
import { isPending, type Requirement, REQUIREMENTS } from "./requirements.ts";
import { readTestSources } from "./support/test-sources.ts";

const sources = readTestSources();

const range = (letter: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${letter}${String(n + 1).padStart(2, "0")}`);

describe("the numbered requirements", () => {
  test("are complete, unique and in order", () => {
    const ids = [...range("W", 16), ...range("H", 5), ...range("T", 9), ...range("S", 11), ...range("U", 9)];
    expect(REQUIREMENTS.map(({ id }) => id)).toEqual(ids);
  });

  test("are compared with the tests of all packages", () => {
    expect(sources.map(({ path }) => path)).toContain("conformance/coverage.test.ts");
    expect(sources.some(({ path }) => path.startsWith("packages/protocol/test/"))).toBe(true);
  });

  test("are each cited by a test, unless pending", () => {
    expect(coverageOf(REQUIREMENTS, sources).uncited).toEqual([]);
  });

  test("include every id that a test cites", () => {
    expect(coverageOf(REQUIREMENTS, sources).unknown).toEqual([]);
  });

  test("name the package of a pending requirement", () => {
    for (const requirement of REQUIREMENTS.filter(isPending))
      expect(requirement.pending).not.toBe("protocol");
  });
});

// The ids are built here, so that this file does not cite them itself.
const id = (number: number) => `W${String(number).padStart(2, "0")}`;

describe("coverageOf", () => {
  const promises: readonly Requirement[] = [
    { id: id(1), text: "", provedBy: "protocol" },
    { id: id(2), text: "", provedBy: "protocol" },
    { id: id(3), text: "", pending: "react", why: "" },
  ];
  const compare = (text: string) => coverageOf(promises, [{ path: "a.test.ts", text }]);

  test("finds a requirement that no test cites, and accepts a pending one", () => {
    expect(compare(`test("${id(1)} holds", () => {});`).uncited).toEqual([id(2)]);
    expect(compare("").uncited).toEqual([id(1), id(2)]);
  });

  test("finds an id that is no requirement", () => {
    expect(compare(`it("${id(9)} holds", () => {});`).unknown).toEqual([`${id(9)} in a.test.ts`]);
  });

  test("lists each file once for an id", () => {
    const text = `test("${id(1)} a", f); test("${id(1)} b", f);`;
    const twice = coverageOf(promises, [
      { path: "a.test.ts", text },
      { path: "b.test.ts", text },
    ]);
    expect(twice.citedIn.get(id(1))).toEqual(["a.test.ts", "b.test.ts"]);
  });

  test.each([
    ["a title in double quotes", `test("${id(1)} ${id(2)}", f)`],
    ["single quotes", `it('${id(1)}, ${id(2)}', f)`],
    ["a template", `describe(\`${id(1)} \${x} ${id(2)}\`, f)`],
    ["a list of cases", `test.each([[1], [2]])("${id(1)} (%s) ${id(2)}", f)`],
    ["a variant", `test.only("${id(1)}/${id(2)}", f)`],
    ["tests inside another", `describe("x", () => { test("${id(1)}", f); it("${id(2)}", f); });`],
  ])("reads %s", (_, text) => {
    expect(compare(text).uncited).toEqual([]);
  });

  test.each([
    ["a comment", `// test("${id(1)} ${id(2)}", f)`],
    ["a string that is no title", `test("x", () => "${id(1)} ${id(2)}")`],
    ["a call of something else", `expect("${id(1)} ${id(2)}")`],
    ["a test that never runs", `test.skip("${id(1)}", f); test.todo("${id(2)}")`],
    ["an id inside a longer name", `test("X${id(1)} ${id(2)}9", f)`],
  ])("ignores %s", (_, text) => {
    const { uncited, unknown } = compare(text);
    expect({ uncited, unknown }).toEqual({ uncited: [id(1), id(2)], unknown: [] });
  });
});
