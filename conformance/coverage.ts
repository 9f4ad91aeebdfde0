/**
 * `measureCoverage` compares the numbered requirements with the titles of tests. It returns the files that cite each id
 * at each level, the levels without a test, and the pending requirements that are in fact proved.
 * Invariant: it is pure. It takes the test files as text and runs no test, and a test that never runs proves nothing.
 */
import ts from "typescript";

import { findLevel, type Level } from "./levels.ts";
import type { Requirement } from "./requirements.ts";

/** The path and the text of a test file. */
export interface TestSource {
  readonly path: string;
  readonly text: string;
}

export interface Coverage {
  /** The files that cite an id at a level, in order. */
  citedIn(id: string, level: Level): readonly string[];
  /** The levels of requirements that are not pending and have no test, as `W01 at gateway`. */
  readonly missing: readonly string[];
  /** Pending requirements with a test at every level. */
  readonly provedButPending: readonly string[];
  /** Cited ids that no requirement has, with the file. */
  readonly unknown: readonly string[];
  /** The titles of all tests, by file. */
  readonly titles: ReadonlyMap<string, ReadonlySet<string>>;
}

const ID = /\b[WHTSU]\d\d\b/g;
const DEFINES_TEST = new Set(["test", "it", "describe"]);
const DOES_NOT_RUN = new Set(["skip", "todo"]);

export function measureCoverage(
  requirements: readonly Requirement[],
  sources: readonly TestSource[],
): Coverage {
  const known = new Set(requirements.map(({ id }) => id));
  const cited = new Map<string, string[]>();
  const titles = new Map<string, Set<string>>();
  const unknown: string[] = [];
  for (const { path, text } of sources) {
    const own = readTitles(text, path);
    titles.set(path, own);
    for (const id of new Set([...own].flatMap((title) => title.match(ID) ?? []))) {
      const key = `${id} at ${findLevel(path)}`;
      if (known.has(id)) cited.set(key, [...(cited.get(key) ?? []), path]);
      else unknown.push(`${id} in ${path}`);
    }
  }
  const missingOf = ({ id, levels }: Requirement): string[] =>
    levels.map((level) => `${id} at ${level}`).filter((key) => !cited.has(key));
  return {
    citedIn: (id, level) => cited.get(`${id} at ${level}`) ?? [],
    missing: requirements.filter(({ pending }) => pending === undefined).flatMap(missingOf),
    provedButPending: requirements
      .filter((each) => each.pending !== undefined && missingOf(each).length === 0)
      .map(({ id }) => id),
    unknown,
    titles,
  };
}

/** The titles of a file's tests. The values inside a template are replaced by an ellipsis. */
function readTitles(text: string, path: string): Set<string> {
  const titles = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && isTest(node.expression)) titles.add(titleOf(node));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest));
  titles.delete("");
  return titles;
}

/** Returns true for `test`, `test.only`, `describe.each([...])` and so on, but not for tests that never run. */
function isTest(callee: ts.Expression): boolean {
  if (ts.isIdentifier(callee)) return DEFINES_TEST.has(callee.text);
  if (ts.isPropertyAccessExpression(callee)) {
    return !DOES_NOT_RUN.has(callee.name.text) && isTest(callee.expression);
  }
  return (ts.isCallExpression(callee) || ts.isTaggedTemplateExpression(callee)) && isTest(calleeOf(callee));
}

function calleeOf(node: ts.CallExpression | ts.TaggedTemplateExpression): ts.Expression {
  return ts.isCallExpression(node) ? node.expression : node.tag;
}

function titleOf(call: ts.CallExpression): string {
  const [title] = call.arguments;
  if (title === undefined) return "";
  if (ts.isStringLiteralLike(title)) return title.text;
  if (!ts.isTemplateExpression(title)) return "";
  return [title.head.text, ...title.templateSpans.map((span) => span.literal.text)].join("…");
}
