/**
 * `npm run public-api` lists the public names of each entry point with their signatures, one line each. It writes the
 * lists to `packages/NAME/public-api/` for a release, so that its review sees every change of the public API.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import ts from "typescript";

import { root } from "./run-command.ts";

const SOURCE = "@turnstream/source";

interface Entry {
  /** For example `@turnstream/client/blocks`. */
  readonly name: string;
  readonly source: string;
  readonly list: string;
}

/** Entries that only our own tools import are not public API. */
const isInternal = (subpath: string): boolean => subpath === "./internal";

function listEntries(): Entry[] {
  return ["protocol", "dev", "server", "testing", "next", "client", "dialects", "react"].flatMap((folder) => {
    const base = join("packages", folder);
    const { exports } = JSON.parse(readFileSync(join(root, base, "package.json"), "utf8")) as {
      readonly exports: Readonly<Record<string, Readonly<Record<string, string>> | string>>;
    };
    return Object.entries(exports).flatMap(([subpath, target]) => {
      const source = typeof target === "string" ? undefined : target[SOURCE];
      if (source === undefined || !/[.]tsx?$/.test(source) || isInternal(subpath)) return [];
      const file = subpath === "." ? "index" : subpath.slice(2).replaceAll("/", "-");
      return [
        {
          name: join("@turnstream", folder, subpath),
          source: join(base, source),
          list: join(base, "public-api", `${file}.txt`),
        },
      ];
    });
  });
}

function openProgram(entries: readonly Entry[]): ts.Program {
  return ts.createProgram(
    entries.map(({ source }) => join(root, source)),
    {
      target: ts.ScriptTarget.ES2023,
      lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
      types: ["node"],
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      jsx: ts.JsxEmit.ReactJSX,
      customConditions: [SOURCE],
      allowImportingTsExtensions: true,
      exactOptionalPropertyTypes: true,
      strict: true,
      noEmit: true,
      skipLibCheck: true,
    },
  );
}

/** Returns one line per exported name, sorted. */
function describeEntry(program: ts.Program, entry: Entry): string[] {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(join(root, entry.source));
  const module = source === undefined ? undefined : checker.getSymbolAtLocation(source);
  if (module === undefined) throw new Error(`${entry.source} exports nothing`);
  return checker
    .getExportsOfModule(module)
    .map((symbol) => describeSymbol(checker, symbol))
    .toSorted();
}

/** Longer inferred types, such as those of zod schemas, are shortened. The files under schemas/ describe them. */
const MAX_INFERRED = 200;

function describeSymbol(checker: ts.TypeChecker, exported: ts.Symbol): string {
  const name = exported.getName();
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  const [declaration] = symbol.getDeclarations() ?? [];
  if (declaration === undefined) return name;
  if (ts.isInterfaceDeclaration(declaration) || ts.isTypeAliasDeclaration(declaration))
    return `type ${name}${describeHead(declaration).replace(/^(interface|type) \w+/, "")}`;
  if (ts.isClassDeclaration(declaration))
    return `class ${name} { ${describeMembers(declaration).join("; ")} }`;
  if (ts.isFunctionDeclaration(declaration) && declaration.type !== undefined)
    return `function ${name}${describeHead(declaration).replace(/^(async )?function\*? \w+/, "")}`;
  if (ts.isVariableDeclaration(declaration) && declaration.type !== undefined)
    return `const ${name}: ${oneLine(withoutComments(declaration.type.getText()))}`;
  const type = checker.getTypeOfSymbolAtLocation(symbol, declaration);
  const text = checker.typeToString(type, declaration, ts.TypeFormatFlags.NoTruncation);
  return `const ${name}: ${text.length > MAX_INFERRED ? `${text.slice(0, MAX_INFERRED)}…` : text}`;
}

/** Returns a declaration as written, without comments, line breaks and body. */
function describeHead(declaration: ts.Declaration & { readonly body?: ts.Node | undefined }): string {
  const source = declaration.getSourceFile();
  const end = declaration.body?.getStart(source) ?? declaration.getEnd();
  return oneLine(
    withoutComments(source.text.slice(declaration.getStart(source), end)).replace(/^export /, ""),
  );
}

function describeMembers(declaration: ts.ClassDeclaration): string[] {
  return declaration.members
    .filter((member) => !isHidden(member))
    .map((member) => describeHead(member).replace(/;$/, ""));
}

function isHidden(member: ts.ClassElement): boolean {
  const flags = ts.getCombinedModifierFlags(member);
  const isPrivate = (flags & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0;
  return isPrivate || (member.name !== undefined && ts.isPrivateIdentifier(member.name));
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, "");
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

function formatList({ name }: Entry, lines: readonly string[]): string {
  return `# Public names of ${name}: ${lines.length}. Written by \`npm run public-api\`.\n${lines.join("\n")}\n`;
}

const entries = listEntries();
const program = openProgram(entries);
for (const entry of entries) {
  const path = join(root, entry.list);
  const lines = describeEntry(program, entry);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, formatList(entry, lines));
  console.log(`${entry.name}: ${lines.length} names`);
}
