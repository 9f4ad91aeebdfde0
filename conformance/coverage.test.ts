/** Every promise that is not pending is cited by a test, and the comparison notices when one is not. */
import { describe, expect, test } from "vitest";

import { coverageOf } from "./coverage.ts";
import { isPending, type Requirement, REQUIREMENTS } from "./requirements.ts";
import { readTestSources } from "./support/test-sources.ts";

const sources = readTestSources();

const range = (letter: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${letter}${String(n + 1).padStart(2, "0")}`);

describe("the numbered promises", () => {
  test("are all there, once, in order", () => {
    const ids = [...range("W", 16), ...range("H", 5), ...range("T", 9), ...range("S", 11), ...range("U", 9)];
    expect(REQUIREMENTS.map(({ id }) => id)).toEqual(ids);
  });

  test("have tests to be compared with", () => {
    expect(sources.map(({ path }) => path)).toContain("conformance/coverage.test.ts");
    expect(sources.some(({ path }) => path.startsWith("packages/protocol/test/"))).toBe(true);
  });

  test("are each cited by a test, unless pending", () => {
    expect(coverageOf(REQUIREMENTS, sources).uncited).toEqual([]);
  });

  test("have every id that a test cites", () => {
    expect(coverageOf(REQUIREMENTS, sources).unknown).toEqual([]);
  });

  test("name the package that will prove what is pending", () => {
    for (const requirement of REQUIREMENTS.filter(isPending))
      expect(requirement.pending).not.toBe("protocol");
  });
});

// The ids are put together here, so that this file does not cite them itself.
const id = (number: number) => `W${String(number).padStart(2, "0")}`;

describe("the comparison", () => {
  const promises: readonly Requirement[] = [
    { id: id(1), text: "", provedBy: "protocol" },
    { id: id(2), text: "", provedBy: "protocol" },
    { id: id(3), text: "", pending: "react", why: "" },
  ];
  const compare = (text: string) => coverageOf(promises, [{ path: "a.test.ts", text }]);

  test("notices a promise that nobody cites, and lets a pending one pass", () => {
    expect(compare(`test("${id(1)} holds", () => {});`).uncited).toEqual([id(2)]);
    expect(compare("").uncited).toEqual([id(1), id(2)]);
  });

  test("notices an id that is no promise", () => {
    expect(compare(`it("${id(9)} holds", () => {});`).unknown).toEqual([`${id(9)} in a.test.ts`]);
  });

  test("counts a file once for an id, and each file", () => {
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
    ["longer words", `test("X${id(1)} ${id(2)}9", f)`],
  ])("is not misled by %s", (_, text) => {
    const { uncited, unknown } = compare(text);
    expect({ uncited, unknown }).toEqual({ uncited: [id(1), id(2)], unknown: [] });
  });
});
