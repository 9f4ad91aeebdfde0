/**
 * `coverageOf` compares the numbered requirements with the titles of tests. It returns the files that cite each id, the
 * ids that no test cites, and the cited ids that don't exist. Pure: it takes the test files as text and runs no test.
 */
import ts from "typescript";

import { isPending, type Requirement } from "./requirements.ts";

/** The path and the text of a test file. */
export interface TestSource {
  readonly path: string;
  readonly text: string;
}

export interface Coverage {
  /** The files that cite each id, in order. */
  readonly citedIn: ReadonlyMap<string, readonly string[]>;
  /** Requirements that are not pending and that no test cites. */
  readonly uncited: readonly string[];
  /** Cited ids that no requirement has, with the file. */
  readonly unknown: readonly string[];
}

const ID = /\b[WHTSU]\d\d\b/g;
const DEFINES_TEST = new Set(["test", "it", "describe"]);
const DOES_NOT_RUN = new Set(["skip", "todo"]);

export function coverageOf(requirements: readonly Requirement[], sources: readonly TestSource[]): Coverage {
  const known = new Set(requirements.map(({ id }) => id));
  const citedIn = new Map<string, string[]>();
  const unknown: string[] = [];
  for (const { path, text } of sources) {
    for (const id of citedIds(text, path)) {
      if (known.has(id)) citedIn.set(id, [...(citedIn.get(id) ?? []), path]);
      else unknown.push(`${id} in ${path}`);
    }
  }
  const uncited = requirements.filter((r) => !isPending(r) && !citedIn.has(r.id)).map(({ id }) => id);
  return { citedIn, uncited, unknown };
}

/** The ids in the titles of a file's tests, without duplicates. */
function citedIds(text: string, path: string): Set<string> {
  const ids = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && isTest(node.expression)) {
      for (const id of titleOf(node).match(ID) ?? []) ids.add(id);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest));
  return ids;
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
