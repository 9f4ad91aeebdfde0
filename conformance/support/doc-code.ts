/**
 * Checks the TypeScript in a document: `checkCode` compiles it, `checkOutput` runs it and compares the output. Each
 * check returns a list of problems.
 *
 * Invariant: each block compiles as a file of this package, so that it sees the same packages and compiler options.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import type { Check } from "./doc-checks.ts";
import { readFences } from "./markdown.ts";

const root = join(import.meta.dirname, "../..");

const config = ts.getParsedCommandLineOfConfigFile(
  join(root, "conformance/tsconfig.json"),
  { noEmit: true, emitDeclarationOnly: false, composite: false },
  { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => {} },
);
/** Parsed source files other than the code of the documents. Parsing them once per run saves most of the time. */
const parsed = { ts: new Map<string, ts.SourceFile>(), tsx: new Map<string, ts.SourceFile>() };

/** Compiler options of code for pages. */
const FOR_PAGES: ts.CompilerOptions = {
  jsx: ts.JsxEmit.ReactJSX,
  lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
};

/** Returns the errors of the compiler. */
export const checkCode: Check = (text) => [...checkCodeOf(text, "ts"), ...checkCodeOf(text, "tsx")];

function checkCodeOf(text: string, language: "ts" | "tsx"): string[] {
  const code = readFences(text).filter(({ info }) => info === language);
  if (config === undefined || code.length === 0) return [];
  const sources = new Map(
    code.map(({ body, line }) => [join(root, "conformance", `line-${line}.${language}`), body] as const),
  );
  const options = language === "ts" ? config.options : { ...config.options, ...FOR_PAGES };
  const host = ts.createCompilerHost(options);
  host.fileExists = (file) => sources.has(file) || ts.sys.fileExists(file);
  host.readFile = (file) => sources.get(file) ?? ts.sys.readFile(file);
  const known = parsed[language];
  const parse = host.getSourceFile.bind(host);
  host.getSourceFile = (file, ...how) => {
    const found = known.get(file) ?? parse(file, ...how);
    if (found !== undefined && !sources.has(file)) known.set(file, found);
    return found;
  };
  const next = ts.createProgram([...sources.keys()], options, host);
  return [...sources.keys()].flatMap((name) => {
    const file = next.getSourceFile(name);
    const found = [...next.getSyntacticDiagnostics(file), ...next.getSemanticDiagnostics(file)];
    return found.map(({ messageText }) => `${name}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`);
  });
}

/** Runs each `ts` block that a `text` block follows, and compares its output with that block. */
export const checkOutput: Check = (text) => {
  const fences = readFences(text);
  mkdirSync(join(root, ".tsc"), { recursive: true });
  const folder = mkdtempSync(join(root, ".tsc/docs-"));
  try {
    return fences.flatMap(({ info, body, line }, n) => {
      const next = fences[n + 1];
      if (info !== "ts" || next?.info !== "text") return [];
      const file = join(folder, `line-${line}.ts`);
      writeFileSync(file, body);
      const output = execFileSync(process.execPath, ["--conditions=@turnstream/source", file], {
        encoding: "utf8",
      });
      return output.trimEnd() === next.body ? [] : [`the program in line ${line} prints ${output}`];
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
};
