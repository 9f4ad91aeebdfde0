/**
 * `findBannedNames` and `findBannedWords` find words that docs/glossary.md bans: in the names that our code declares,
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

export interface BannedWord {
  readonly file: string;
  readonly line: number;
  readonly word: string;
}

/**
 * Finds banned words in prose: the comments and sentences of a source file, or the text of a document. Names in
 * backticks, snake_case names of the wire and of tables, SQL, and strings of one word are not prose.
 */
export function findBannedWords(root: string, file: string, banned: ReadonlySet<string>): BannedWord[] {
  const text = readFileSync(join(root, file), "utf8");
  const parts = /[.]tsx?$/.test(file) ? proseIn(file, text) : [{ start: 0, text: commentsOf(file, text) }];
  return parts.flatMap((part) =>
    [...withoutCode(part.text).matchAll(/[A-Za-z_]+/g)]
      .filter(([word]) => banned.has(word.toLowerCase()))
      .map(({ 0: word, index }) => ({
        file,
        line: text.slice(0, part.start + index).split("\n").length,
        word,
      })),
  );
}

/** The prose of a stylesheet is its comments; everything else becomes spaces, so that positions stay. */
function commentsOf(file: string, text: string): string {
  if (!file.endsWith(".css")) return text;
  return text.replaceAll(/(^|\*\/)[\s\S]*?(?=\/\*|$)/g, (code) => code.replaceAll(/[^\n]/g, " "));
}

/** Replaces names in backticks, code blocks and links' targets by spaces, so that positions stay. */
function withoutCode(text: string): string {
  return text.replaceAll(/```[\s\S]*?```|`[^`\n]{1,80}`|\]\([^)\s]+\)/g, (code) => " ".repeat(code.length));
}

interface Prose {
  readonly start: number;
  readonly text: string;
}

function proseIn(file: string, text: string): Prose[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const comments = new Map<number, Prose>();
  const sentences: Prose[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node) && /^(sql|db)\b/.test(node.tag.getText(source))) {
      visit(node.tag);
      return;
    }
    const children = node.getChildren(source);
    for (const child of children) visit(child);
    if (children.length > 0) return;
    const full = node.getFullStart();
    const ranges = [
      ...(ts.getLeadingCommentRanges(text, full) ?? []),
      ...(ts.getTrailingCommentRanges(text, node.end) ?? []),
    ];
    for (const { pos, end } of ranges) comments.set(pos, { start: pos, text: text.slice(pos, end) });
    const content = node.getText(source);
    if (isText(node) && /\s/.test(content.trim()))
      sentences.push({ start: node.getStart(source), text: content });
  };
  visit(source);
  return [...comments.values(), ...sentences];
}

function isText({ kind }: ts.Node): boolean {
  return (
    kind === ts.SyntaxKind.StringLiteral ||
    kind === ts.SyntaxKind.NoSubstitutionTemplateLiteral ||
    kind === ts.SyntaxKind.TemplateHead ||
    kind === ts.SyntaxKind.TemplateMiddle ||
    kind === ts.SyntaxKind.TemplateTail ||
    kind === ts.SyntaxKind.JsxText
  );
}
