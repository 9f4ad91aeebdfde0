/**
 * Checks the TypeScript in a document: `checkCode` compiles it, `checkOutput` runs it and compares the output. Both
 * return lists of problems.
 *
 * Invariant: each block compiles as a file of this package, so that it sees the same packages and compiler options.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import type { Check } from "./doc-checks.ts";
import { readFences } from "./markdown.ts";

const root = join(import.meta.dirname, "../../..");

const config = ts.getParsedCommandLineOfConfigFile(
  join(root, "tests/conformance/tsconfig.json"),
  { noEmit: true, emitDeclarationOnly: false, composite: false },
  { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => {} },
);
/** Compiler options of code for pages. */
const FOR_PAGES: ts.CompilerOptions = {
  jsx: ts.JsxEmit.ReactJSX,
  lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
  // Bundlers declare style sheets and URLs of files as modules, such as Vite with `vite/client`.
  types: ["vite/client"],
  noUncheckedSideEffectImports: false,
};

/** Returns the compiler's errors for each document. Compiling all documents at once takes a fraction of the time. */
export function checkCode(texts: readonly string[]): string[][] {
  const problems = [compile(texts, "ts"), compile(texts, "tsx")];
  return texts.map((_, n) => problems.flatMap((each) => each[n] ?? []));
}

function compile(texts: readonly string[], language: "ts" | "tsx"): string[][] {
  const sources = new Map<string, string>();
  const filesByText = texts.map((text, n) =>
    readFences(text)
      .filter(({ info }) => info === language)
      .map(({ body, line }) => {
        const file = join(root, "tests/conformance", `document-${n}-line-${line}.${language}`);
        sources.set(file, body);
        return file;
      }),
  );
  if (config === undefined || sources.size === 0) return [];
  const options = language === "ts" ? config.options : { ...config.options, ...FOR_PAGES };
  const host = ts.createCompilerHost(options);
  host.fileExists = (file) => sources.has(file) || ts.sys.fileExists(file);
  host.readFile = (file) => sources.get(file) ?? ts.sys.readFile(file);
  const program = ts.createProgram([...sources.keys()], options, host);
  const problemsOf = (name: string): string[] => {
    const file = program.getSourceFile(name);
    const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
    return found.map(({ messageText }) => `${name}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`);
  };
  return filesByText.map((files) => files.flatMap(problemsOf));
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
        // A program without servers keeps its data in a folder here.
        cwd: folder,
        encoding: "utf8",
      });
      return output.trimEnd() === next.body ? [] : [`the program in line ${line} prints ${output}`];
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
};
