/**
 * `findBannedNames` and `countBannedWords` find words that docs/glossary.md bans: in the names that our code declares,
 * and in its prose. The glossary is the only word list.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import ts from "typescript";

/** Reads the words in backticks: the last column of the terms, and the first column of the words to avoid. */
export function readBannedWords(glossary: string): ReadonlySet<string> {
  const [terms = "", avoid = ""] = glossary.split("## Words to avoid");
  const cells = [...rows(terms).map((row) => row.at(-1) ?? ""), ...rows(avoid).map(([first]) => first ?? "")];
  return new Set(
    cells.flatMap((cell) => [...cell.matchAll(/`([a-z]+)`/g)].map(([, word]) => word as string)),
  );
}

function rows(markdown: string): string[][] {
  return markdown
    .split("\n")
    .filter((line) => line.startsWith("|") && !line.startsWith("| ---"))
    .slice(1)
    .map((line) => line.slice(1, -1).split("|"));
}

export interface BannedName {
  readonly file: string;
  readonly line: number;
  readonly name: string;
}

/** `maxHeldBytes` becomes `["max", "held", "bytes"]`. */
export function splitName(name: string): string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
    .split(/[^A-Za-z]+/)
    .map((word) => word.toLowerCase());
}

/** Fields of events, frames and tables are snake_case. They are part of the contract, so this check ignores them. */
const isWireName = (name: string): boolean => /^[a-z0-9]+(_[a-z0-9]+)+$/.test(name);

/** Returns the names that a source file declares, and its file name, if they contain a banned word. */
export function findBannedNames(root: string, file: string, banned: ReadonlySet<string>): BannedName[] {
  const text = readFileSync(join(root, file), "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: BannedName[] = [];
  const check = (name: string, at: number): void => {
    if (isWireName(name) || !splitName(name).some((word) => banned.has(word))) return;
    found.push({ file, line: source.getLineAndCharacterOfPosition(at).line + 1, name });
  };
  check(file.split("/").at(-1) ?? file, 0);
  const visit = (node: ts.Node): void => {
    if ((ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) && isDeclared(node))
      check(node.text, node.getStart(source));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function isDeclared(node: ts.Identifier | ts.PrivateIdentifier): boolean {
  const { parent } = node;
  if (ts.isImportSpecifier(parent)) return parent.propertyName !== undefined && parent.name === node;
  if (ts.isBindingElement(parent)) return parent.name === node;
  if (ts.isShorthandPropertyAssignment(parent) || ts.isExportSpecifier(parent)) return false;
  return (
    (ts.isDeclarationStatement(parent) || hasName(parent)) && (parent as { name?: ts.Node }).name === node
  );
}

function hasName(node: ts.Node): boolean {
  return (
    ts.isVariableDeclaration(node) ||
    ts.isParameter(node) ||
    ts.isPropertySignature(node) ||
    ts.isPropertyDeclaration(node) ||
    ts.isPropertyAssignment(node) ||
    ts.isMethodSignature(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isGetAccessor(node) ||
    ts.isSetAccessor(node) ||
    ts.isTypeParameterDeclaration(node) ||
    ts.isFunctionExpression(node) ||
    ts.isClassExpression(node) ||
    ts.isNamespaceImport(node) ||
    ts.isImportClause(node)
  );
}

/** Counts banned words in the comments and strings of a source file, or in the whole text of a document. */
export function countBannedWords(root: string, file: string, banned: ReadonlySet<string>): number {
  const text = readFileSync(join(root, file), "utf8");
  const prose = /[.]tsx?$/.test(file) ? proseIn(text) : text;
  let count = 0;
  for (const [word] of prose.matchAll(/[A-Za-z]+/g)) if (banned.has(word.toLowerCase())) count++;
  return count;
}

function proseIn(text: string): string {
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, false, ts.LanguageVariant.JSX, text);
  const parts: string[] = [];
  for (let token = scanner.scan(); token !== ts.SyntaxKind.EndOfFileToken; token = scanner.scan())
    if (
      token === ts.SyntaxKind.SingleLineCommentTrivia ||
      token === ts.SyntaxKind.MultiLineCommentTrivia ||
      token === ts.SyntaxKind.StringLiteral ||
      token === ts.SyntaxKind.NoSubstitutionTemplateLiteral ||
      token === ts.SyntaxKind.TemplateHead
    )
      parts.push(scanner.getTokenText());
  return parts.join("\n");
}
