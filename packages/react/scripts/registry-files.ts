/**
 * `registryFiles` returns the files of the shadcn registry: one item per component in `registry/source`, with the source
 * as its content, and the index of all items.
 * Invariant: an item contains every file that it imports, and imports the `ui` components from the app.
 */
import { readFileSync } from "node:fs";

const ITEMS = {
  thread: {
    title: "Thread",
    description: "A session of Turnstream: turns, approvals and the composer.",
  },
  composer: { title: "Composer", description: "The input for messages and files of a session." },
  "session-list": { title: "Session list", description: "The user's sessions of Turnstream." },
  "approval-card": {
    title: "Approval card",
    description: "A tool call that waits until the user approves or rejects it.",
  },
};

const SCHEMAS = "https://ui.shadcn.com/schema";
const FOLDER = "components/turnstream";
const LOCAL_IMPORT = /from "\.\/(ui\/)?([\w-]+)\.tsx"/g;

const packageJson = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};

interface RegistryFile {
  readonly path: string;
  readonly type: "registry:component";
  readonly target: string;
  readonly content: string;
}

function sourceOf(name: string): string {
  return readFileSync(new URL(`../registry/source/${name}.tsx`, import.meta.url), "utf8");
}

/** The component and those that it imports, the component first. */
function namesOf(name: string): string[] {
  const imported = [...sourceOf(name).matchAll(LOCAL_IMPORT)].filter(([, ui]) => ui === undefined);
  return [...new Set([name, ...imported.flatMap(([, , other = ""]) => namesOf(other))])];
}

function fileOf(name: string): RegistryFile {
  const content = sourceOf(name).replaceAll(LOCAL_IMPORT, (_, ui: string | undefined, other: string) =>
    ui === undefined ? `from "@/${FOLDER}/${other}"` : `from "@/components/ui/${other}"`,
  );
  const path = `${FOLDER}/${name}.tsx`;
  return { path, type: "registry:component", target: path, content };
}

function itemOf(name: keyof typeof ITEMS) {
  const names = namesOf(name);
  const ui = names.flatMap((one) =>
    [...sourceOf(one).matchAll(LOCAL_IMPORT)].flatMap(([, isUi, other = ""]) =>
      isUi === undefined ? [] : [other],
    ),
  );
  return {
    $schema: `${SCHEMAS}/registry-item.json`,
    name,
    type: "registry:component",
    ...ITEMS[name],
    dependencies: [`@turnstream/react@${packageJson.version}`, `@turnstream/client@${packageJson.version}`],
    registryDependencies: [...new Set(ui)].toSorted(),
    files: names.map(fileOf),
    css: { '@import "@turnstream/react/shadcn.css" layer(components)': {} },
  };
}

function format(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Returns the text of each file of `registry/`, by name. */
export function registryFiles(): Map<string, string> {
  const items = (Object.keys(ITEMS) as (keyof typeof ITEMS)[]).map(itemOf);
  const index = {
    $schema: `${SCHEMAS}/registry.json`,
    name: "turnstream",
    homepage: "https://www.npmjs.com/package/@turnstream/react",
    items: items.map(({ $schema: _, files, ...item }) => ({
      ...item,
      files: files.map(({ content: _content, ...file }) => file),
    })),
  };
  return new Map([
    ...items.map((item) => [`${item.name}.json`, format(item)] as const),
    ["registry.json", format(index)],
  ]);
}
