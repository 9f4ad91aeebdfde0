/**
 * `createOptionTable` makes the table of an options type from its declaration: names, types and defaults, and the comment
 * of each option as its description. `npm run option-tables` writes the tables into docs/, and a test compares them.
 *
 * Invariant: a default in a comment, which editors show, equals the one of the schema.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { root } from "./run-command.ts";

interface OptionTable {
  readonly page: string;
  readonly heading: string;
  /** Where the options are declared: a file, from packages/server/src, and the name of a shape or an interface. */
  readonly from: readonly (readonly [file: string, declaration: string])[];
}

export const OPTION_TABLES: readonly OptionTable[] = [
  table("agents.md", "## `defineAgent(options)`", ["agent/define/agent.ts", "agentShape"]),
  table("agents.md", "### Limits", ["agent/define/limits.ts", "limitShape"]),
  table("agents.md", "### `approval`", ["agent/define/approval.ts", "approvalShape"]),
  table("agents.md", "## `startWorker(options)`", ["worker/options.ts", "workerShape"]),
  table("files.md", "## Options of the worker", ["agent/define/file-limits.ts", "fileLimitShape"]),
  table("files.md", "## Let the model see images", ["agent/define/limits.ts", "imageLimitShape"]),
  table("files.md", "## Safe fetch", ["safe-fetch/policy.ts", "policyShape"]),
  table(
    "gateway.md",
    "## Options of `createGateway` and `createServer`",
    ["gateway/options.ts", "gatewayShape"],
    ["gateway/create-server.ts", "ServerOptions"],
  ),
  table("gateway.md", "### Limits", ["gateway/gateway-limits.ts", "limitShape"]),
  table(
    "one-call.md",
    "## Options",
    ["turnstream/settings.ts", "settingsShape"],
    ["turnstream/options.ts", "turnstreamShape"],
  ),
  table("payments.md", "## `payments(options)`", ["../../payments/src/payment-options.ts", "paymentShape"]),
  table("webhooks.md", "## Options of the worker", ["session/webhooks/webhook-options.ts", "webhookShape"]),
];

function table(page: string, heading: string, ...from: OptionTable["from"]): OptionTable {
  return { page, heading, from };
}

export const HEADER = "| Option | Type | Default | Description |\n| --- | --- | --- | --- |";

/** @throws if an option has no comment, or if its comment has another default than its schema */
export function createOptionTable({ page, from }: OptionTable): string {
  const rows = from.flatMap(([file, declaration]) => {
    const text = readFileSync(join(root, "packages/server/src", file), "utf8");
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    return findMembers(source, declaration).map((member) => toRow(member, page));
  });
  return [HEADER, ...rows].join("\n");
}

/** Replaces the table under the heading. */
export function replaceTable(markdown: string, { heading }: OptionTable, rows: string): string {
  const at = markdown.indexOf(`\n${heading}\n`);
  const start = markdown.indexOf(HEADER, at);
  const next = markdown.indexOf("\n#", at + 1);
  if (at === -1 || start === -1 || (next !== -1 && start > next))
    throw new RangeError(`there is no table of options under "${heading}"`);
  const end = markdown.indexOf("\n\n", start);
  return markdown.slice(0, start) + rows + (end === -1 ? "\n" : markdown.slice(end));
}

type Member = ts.PropertyAssignment | ts.ShorthandPropertyAssignment | ts.PropertySignature;

function findMembers(source: ts.SourceFile, declaration: string): Member[] {
  for (const statement of source.statements) {
    if (ts.isInterfaceDeclaration(statement) && statement.name.text === declaration)
      return statement.members.filter((member) => ts.isPropertySignature(member));
    if (!ts.isVariableStatement(statement)) continue;
    for (const { name, initializer } of statement.declarationList.declarations)
      if (
        name.getText() === declaration &&
        initializer !== undefined &&
        ts.isObjectLiteralExpression(initializer)
      )
        return initializer.properties.filter((property) => !ts.isSpreadAssignment(property)) as Member[];
  }
  throw new RangeError(`${source.fileName} does not declare ${declaration}`);
}

function toRow(member: Member, page: string): string {
  const name = member.name.getText();
  const schema = schemaOf(member);
  const description = ts
    .getJSDocCommentsAndTags(member)
    .flatMap((doc) => (ts.isJSDoc(doc) ? [ts.getTextOfJSDocComment(doc.comment) ?? ""] : []))
    .join(" ")
    .replaceAll(/\s+/g, " ")
    .replaceAll(`](${page}#`, "](#")
    .replaceAll("|", "\\|");
  if (description === "") throw new RangeError(`the option ${name} has no comment`);
  const inComment = ts.getJSDocTags(member).find((tag) => tag.tagName.text === "default")?.comment;
  const stated = inComment === undefined ? null : (ts.getTextOfJSDocComment(inComment) ?? "").trim();
  const own = schema === null ? null : findDefault(schema);
  if (stated !== null && own !== null && own !== "null" && own !== "{}" && toPlain(stated) !== toPlain(own))
    throw new RangeError(`the option ${name} has the default ${own}, but its comment says ${stated}`);
  const value = stated ?? (own === "null" ? null : own);
  const isOptional = ts.isPropertySignature(member)
    ? member.questionToken !== undefined
    : isOptionalSchema(member);
  const shown = value === null ? (isOptional ? "none" : "**required**") : formatDefault(value);
  return `| \`${name}\` | ${typeOf(member)} | ${shown} | ${description} |`;
}

/** The number of `512 * 1024`, or the first word of a text. */
function toPlain(value: string): string {
  const [first = ""] = /^(\{.*\}|\[.*\]|"[^"]*"|\S+)/.exec(value.replaceAll("_", "")) ?? [];
  return first;
}

function formatDefault(value: string): string {
  const literal = /^(\{.*?\}|\[.*?\]|"[^"]*"|-?[\d_]+|true|false|Infinity)(?=$|[\s,:])/.exec(value)?.[0];
  if (literal === undefined) return value;
  const plain = /^[\d_]+$/.test(literal) ? literal.replaceAll("_", "") : literal;
  return `\`${plain}\`${value.slice(literal.length)}`;
}

function schemaOf(member: Member): ts.Expression | null {
  return ts.isPropertyAssignment(member) ? member.initializer : null;
}

/** Finds a call in a chain, such as `default` in `z.string().default("")`. */
function findCall(schema: ts.Expression, ...names: readonly string[]): ts.CallExpression | null {
  if (!ts.isCallExpression(schema) || !ts.isPropertyAccessExpression(schema.expression)) return null;
  if (names.includes(schema.expression.name.text)) return schema;
  return findCall(schema.expression.expression, ...names);
}

function isOptionalSchema(member: Member): boolean {
  const schema = schemaOf(member);
  return (
    schema !== null &&
    (schema.getText().startsWith("setting(") || findCall(schema, "default", "prefault", "optional") !== null)
  );
}

/** The default as JSON, or null if the schema has none that is a plain value. */
function findDefault(schema: ts.Expression): string | null {
  const value = findCall(schema, "default", "prefault")?.arguments[0];
  if (value === undefined) return null;
  const text = value.getText();
  const product = /^[\d_]+( \* [\d_]+)*$/.test(text)
    ? text.split(" * ").reduce((result, factor) => result * Number(factor.replaceAll("_", "")), 1)
    : null;
  if (product !== null) return String(product);
  return /^(".*"|true|false|null|Infinity|\{\}|\[[^\w]*[\d, "a-z]*\])$/.test(text) ? text : null;
}

const TYPES: Readonly<Record<string, string>> = {
  integer: "number",
  amount: "number",
  func: "function",
  setting: "string",
  toggle: "boolean or object",
  boolean: "boolean",
  string: "string",
  // Types and schemas whose names would say less.
  Instructions: "string or function",
  ModelOption: "AI SDK model or string",
  TrustProxy: "boolean, string or string[]",
  localeTag: "string",
  providers: "PaymentProvider[]",
  secrets: "string[]",
  webOrigin: "string",
  title: "`false` or object",
};

function typeOf(member: Member): string {
  if (ts.isPropertySignature(member)) return nameType(member.type?.getText() ?? "");
  const schema = schemaOf(member);
  return schema === null ? (TYPES[member.name.getText()] ?? "object") : typeOfSchema(schema);
}

function typeOfSchema(schema: ts.Expression): string {
  if (!ts.isCallExpression(schema)) return TYPES[schema.getText()] ?? "object";
  const { expression, typeArguments, arguments: given } = schema;
  const [first] = given;
  const called = ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText();
  if (ts.isPropertyAccessExpression(expression) && expression.expression.getText() !== "z") {
    const inner = typeOfSchema(expression.expression);
    return called === "nullable" && !isNullByDefault(schema) ? `${inner} or null` : inner;
  }
  const elements = first !== undefined && ts.isArrayLiteralExpression(first) ? first.elements : [];
  if (called === "enum") return elements.map((value) => `\`${value.getText()}\``).join(" or ");
  if (called === "union") return elements.map((value) => typeOfSchema(value)).join(" or ");
  if (called === "literal") return `\`${first?.getText() ?? ""}\``;
  if (called === "array") return `${first === undefined ? "object" : typeOfSchema(first)}[]`;
  return TYPES[called] ?? nameType(typeArguments?.[0]?.getText() ?? "object");
}

/** True for `nullable().default(null)`: the table then shows that there is none by default. */
function isNullByDefault(nullable: ts.CallExpression): boolean {
  const outer = nullable.parent.parent;
  return ts.isCallExpression(outer) && outer.arguments[0]?.kind === ts.SyntaxKind.NullKeyword;
}

/** A name, or the kind of a type that has none. */
function nameType(type: string): string {
  const plain = type.replace(/^readonly /, "").replace(/ \| undefined$/, "");
  if (plain.includes("=>")) return "function";
  if (plain.startsWith("Readonly<Record") || plain.startsWith("{")) return "object";
  return TYPES[plain] ?? plain.replace(/<.*>$/, "").split(" | ").join(" or ");
}

if (import.meta.main)
  for (const one of OPTION_TABLES) {
    const path = join(root, "docs", one.page);
    writeFileSync(path, replaceTable(readFileSync(path, "utf8"), one, createOptionTable(one)));
  }
