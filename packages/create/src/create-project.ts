/**
 * `createProject` writes the files of a new app: those of the template with the chosen model, and the files that npm
 * does not publish as part of a template (`.gitignore`, `.env`).
 * Invariant: it never changes or removes a file that exists. It writes only into a folder that is missing or empty.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import {
  MODEL_IN_TEMPLATES,
  MODELS,
  type ModelChoice,
  type ModelName,
  type TemplateName,
} from "./choices.ts";

export interface Project {
  /** The absolute path of the new app. */
  readonly folder: string;
  readonly template: TemplateName;
  readonly model: ModelName;
  /** The version of the packages `@turnstream/…`. */
  readonly version: string;
}

/** Git's own folder and the files of editors and systems don't count as content. */
const IGNORED = new Set([".git", ".DS_Store", ".idea", ".vscode"]);
const TEMPLATES_FOLDER = join(import.meta.dirname, "..", "templates");

/** @returns what is in the folder; an empty list if it does not exist */
export function listContent(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).filter((name) => !IGNORED.has(name)) : [];
}

export function createProject({ folder, template, model, version }: Project): void {
  const choice: ModelChoice = MODELS[model];
  mkdirSync(folder, { recursive: true });
  cpSync(join(TEMPLATES_FOLDER, template), folder, { recursive: true, force: false, errorOnExist: true });
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (/[.]tsx?$/.test(name)) change(join(folder, name), (code) => setModel(code, choice));
  }
  const name = toPackageName(folder);
  change(join(folder, "package.json"), (text) => describePackage(text, { name, version, choice }));
  writeFileSync(join(folder, ".gitignore"), GITIGNORE, { flag: "wx" });
  writeFileSync(join(folder, ".env"), describeVariables(choice), { flag: "wx" });
}

function change(file: string, edit: (text: string) => string): void {
  writeFileSync(file, edit(readFileSync(file, "utf8")));
}

function setModel(code: string, { importLine, expression }: ModelChoice): string {
  if (!code.includes(MODEL_IN_TEMPLATES)) return code;
  const changed = code.replace(MODEL_IN_TEMPLATES, () => expression);
  if (importLine === null) return changed;
  const lines = changed.split("\n");
  // Imports are sorted by their module.
  const after = lines.findIndex((line) => readModule(line) > readModule(importLine));
  return lines.toSpliced(after, 0, importLine).join("\n");
}

function readModule(line: string): string {
  return /^import .*"(.+)";$/.exec(line)?.[1] ?? "";
}

interface PackageValues {
  readonly name: string;
  readonly version: string;
  readonly choice: ModelChoice;
}

function describePackage(template: string, { name, version, choice }: PackageValues): string {
  const manifest = JSON.parse(template) as Record<"dependencies" | "devDependencies", Ranges>;
  const { dependencies, devDependencies } = manifest;
  const described = {
    name,
    ...manifest,
    dependencies: withVersion({ ...dependencies, ...choice.dependencies }, version),
    devDependencies: withVersion(devDependencies, version),
  };
  return `${JSON.stringify(described, null, 2)}\n`;
}

type Ranges = Readonly<Record<string, string>>;

/** Sorts the packages by name, and sets the version of ours. */
function withVersion(ranges: Ranges, version: string): Ranges {
  const entries = Object.entries(ranges)
    .map(([key, range]): [string, string] => [key, key.startsWith("@turnstream/") ? `^${version}` : range])
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries);
}

/** npm accepts lower-case letters, digits, "-", "." and "_", and no "." or "_" at the start. */
function toPackageName(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replaceAll(/^[._-]+|[._-]+$/g, "");
  return name === "" ? "app" : name;
}

const GITIGNORE = `node_modules
dist
.next
next-env.d.ts
.env*
.turnstream
*.tsbuildinfo
`;

function describeVariables({ keyVariable }: ModelChoice): string {
  const key =
    keyVariable === null ? "" : `# Answers are scripted until the key is set.\n# ${keyVariable}=\n\n`;
  return `${key}# Without these, the data is in the folder .turnstream.
# DATABASE_URL=postgres://localhost/app
# REDIS_URL=redis://localhost:6379
# The output of \`openssl rand -hex 32\`.
# TURNSTREAM_SECRET=
`;
}
