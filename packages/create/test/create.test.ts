/** Tests the command `create-turnstream` in temporary folders: its files, its errors and its questions. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { MODEL_IN_TEMPLATES, MODELS, type ModelName, TEMPLATES } from "../src/choices.ts";
import { type CreateContext, run } from "../src/run.ts";

const templates = Object.keys(TEMPLATES);
const models = Object.keys(MODELS) as ModelName[];

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "create-turnstream-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function ran(args: readonly string[], change: Partial<CreateContext> = {}) {
  const cwd = change.cwd ?? makeFolder();
  let [out, err] = ["", ""];
  const code = await run(args, {
    cwd,
    nodeVersion: process.versions.node,
    packageManager: "npm",
    terminal: null,
    columns: null,
    out: (piece) => (out += piece),
    err: (piece) => (err += piece),
    ...change,
  });
  return { cwd, code, out, err };
}

/** Returns the files of a folder by their path. */
function readFiles(folder: string): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name));
  return new Map(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, "utf8")]));
}

async function create(template: string, model: string): Promise<Map<string, string>> {
  const { cwd, code, err } = await ran(["my-app", "--template", template, "--model", model]);
  expect([code, err]).toEqual([0, ""]);
  return readFiles(join(cwd, "my-app"));
}

function readDependencies(manifest: string): Record<string, string> {
  const { dependencies, devDependencies, peerDependencies } = JSON.parse(manifest) as Record<
    string,
    Record<string, string>
  >;
  return { ...peerDependencies, ...dependencies, ...devDependencies };
}

describe.each(templates)("the template %s", (template) => {
  test.each(models)("answers with the model %s", async (model) => {
    const { importLine, expression, dependencies, keyVariable } = MODELS[model];
    const files = await create(template, model);
    const withModel = [...files.values()].filter((code) => code.includes(`model: ${expression},`));
    expect(withModel).toHaveLength(1);
    const [code = ""] = withModel;
    expect(code.split("\n").filter((line) => line === importLine)).toHaveLength(importLine === null ? 0 : 1);
    if (model !== "gateway") expect([...files.values()].join()).not.toContain(MODEL_IN_TEMPLATES);
    expect([...files.values()].join()).toContain("scriptedAnswers: ");
    expect(readDependencies(files.get("package.json") ?? "")).toMatchObject(dependencies);
    const variables = files.get(".env") ?? "";
    if (keyVariable !== null) expect(variables).toContain(`# ${keyVariable}=`);
    expect(files.get(".gitignore")).toContain(".env");
  });

  test("uses the versions of packages that this repository tests", async () => {
    const files = await create(template, "gateway");
    const tested = readTestedVersions();
    for (const dependency of Object.entries(readDependencies(files.get("package.json") ?? "")))
      expect(tested).toContain(describeMajor(dependency));
  });
});

test("templates are the folders of the package", () => {
  expect(readdirSync(join(import.meta.dirname, "../templates")).toSorted()).toEqual(templates.toSorted());
});

test("the files that templates share are the same", () => {
  const folder = join(import.meta.dirname, "../templates");
  const read = (path: string) => readFileSync(join(folder, path), "utf8");
  for (const name of ["agent.ts", "index.html", "src/main.tsx", "tsconfig.json"])
    expect(read(`hono/${name}`)).toBe(read(`vite/${name}`));
  for (const name of ["vite.config.ts", "index.html", "tsconfig.json", "README.md"])
    expect(read(`from-ai-sdk/${name}`)).toBe(read(`vite/${name}`));
});

/** Returns the packages that the workspaces of this repository use or are, each with its major version. */
function readTestedVersions(): string[] {
  const root = join(import.meta.dirname, "../../..");
  const packages = readdirSync(join(root, "packages")).map((name) => `packages/${name}`);
  return [".", "bench", "tests/browser", ...packages].flatMap((folder) => {
    const manifest = readFileSync(join(root, folder, "package.json"), "utf8");
    const { name, version } = JSON.parse(manifest) as { name: string; version: string };
    return [...Object.entries(readDependencies(manifest)), [name, version] as const].map(describeMajor);
  });
}

/** The range of an alias is, for example, "npm:typescript@7.0.2". */
function describeMajor([alias, range]: readonly [string, string]): string {
  const [, name = alias, version = range] = /^npm:(.+)@(.+)$/.exec(range) ?? [];
  return `${name} ${/\d+/.exec(version)?.[0]}`;
}

test("the next commands follow the folder and the package manager", async () => {
  const options = ["--template", "vite", "--model", "openai"];
  expect((await ran(["my-app", ...options])).out).toBe(`
Created my-app from the template vite. Next:

  cd my-app
  npm install
  npm run dev

Answers are scripted until you set OPENAI_API_KEY in the file .env.
`);
  const here = await ran([".", ...options], { packageManager: "pnpm" });
  expect(here.out).toContain("from the template vite. Next:\n\n  pnpm install\n  pnpm run dev\n");
  expect((await ran(["My App", ...options])).out).toContain(`cd "My App"`);
  const named = readFiles((await ran(["My App", ...options])).cwd).get("My App/package.json");
  expect(JSON.parse(named ?? "")).toMatchObject({ name: "my-app" });
});

test("a folder with files is refused and stays unchanged, and one with only .git is accepted", async () => {
  const cwd = makeFolder();
  mkdirSync(join(cwd, "my-app/.git"), { recursive: true });
  writeFileSync(join(cwd, "my-app/notes.txt"), "mine");
  const options = ["--template", "vite", "--model", "openai"];
  const refused = await ran(["my-app", ...options], { cwd });
  expect(refused).toMatchObject({ code: 1, out: "" });
  expect(refused.err).toBe(
    `create-turnstream: The folder ${join(cwd, "my-app")} is not empty: it has notes.txt. Choose another folder.\n`,
  );
  expect([...readFiles(join(cwd, "my-app")).keys()]).toEqual(["notes.txt"]);
  rmSync(join(cwd, "my-app/notes.txt"));
  expect(await ran(["my-app", ...options], { cwd })).toMatchObject({ code: 0 });
});

test("without a terminal, missing and wrong arguments are named", async () => {
  const missing = await ran([]);
  expect(missing).toMatchObject({ code: 2, out: "" });
  for (const name of ["the folder", "--template (next, vite, hono, from-ai-sdk)", "--model (gateway, openai"])
    expect(missing.err).toContain(name);
  expect((await ran(["my-app", "--template", "vite"])).err).not.toContain("--template (");
  const wrong = await ran(["my-app", "--template", "remix"]);
  expect(wrong.code).toBe(2);
  expect(wrong.err).toContain("Allowed choices are next, vite, hono, from-ai-sdk.");
  // npm reads options without dashes in front of them itself, and passes only their values.
  const dashes = await ran(["my-app", "vite"]);
  expect(dashes.code).toBe(2);
  expect(dashes.err).toContain("npm create turnstream my-app -- --template vite");
  expect(readdirSync(dashes.cwd)).toEqual([]);
});

test("an older Node is refused before anything is written", async () => {
  const { code, err, cwd } = await ran(["my-app"], { nodeVersion: "22.18.0" });
  expect([code, err]).toEqual([
    1,
    "create-turnstream: The app needs Node 22.19 or newer, and this is 22.18.0. Install a newer Node.\n",
  ]);
  expect(readdirSync(cwd)).toEqual([]);
});

test("help has examples, all templates and all models", async () => {
  const { code, out } = await ran(["--help"]);
  expect(code).toBe(0);
  for (const word of ["Examples:", "npm create turnstream my-app -- --template", ...templates, ...models])
    expect(out).toContain(word);
  expect((await ran(["--version"])).out).toMatch(/^\d+[.]\d+[.]\d+\n$/);
});

/** Presses the keys one after the other, each when its question is shown. */
async function answer(args: readonly string[], keys: readonly (readonly [question: string, key: string])[]) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let shown = "";
  const remaining = [...keys];
  output.on("data", (piece) => {
    shown += String(piece);
    const [question, key] = remaining[0] ?? [];
    if (question === undefined || !shown.includes(question)) return;
    remaining.shift();
    setImmediate(() => input.write(key));
  });
  const result = await ran(args, { terminal: { input, output } });
  return { ...result, shown };
}

test("in a terminal, it asks for what is missing", async () => {
  const all = await answer(
    [],
    [
      ["Folder", "\r"],
      ["Template", "\u001b[B\r"],
      ["Model", "\r"],
    ],
  );
  expect(all.code).toBe(0);
  expect(all.out).toContain("Created my-app from the template vite.");
  const one = await answer(["other", "--template", "hono"], [["Model", "\u001b[B\r"]]);
  expect(one.out).toContain("Created other from the template hono.");
  expect(one.out).toContain("OPENAI_API_KEY");
  expect(one.shown).not.toContain("Folder");
});

test("a cancelled question creates nothing", async () => {
  const { code, shown, cwd } = await answer([], [["Folder", "\u0003"]]);
  expect(code).toBe(1);
  expect(shown).toContain("Nothing was created.");
  expect(readdirSync(cwd)).toEqual([]);
});
