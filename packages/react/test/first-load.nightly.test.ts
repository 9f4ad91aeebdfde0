/**
 * Tests what a page loads: before the first answer, with an answer and cards, and for each optional entry. It bundles the
 * source, and docs/performance.md names the same limits. `.size-limit.json` sets the first limit for the published files.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { build, type Rolldown } from "vite";

const source = join(import.meta.dirname, "../src");
const ENTRY = join(import.meta.dirname, "first-load-entry.ts");

/** In kilobytes of 1,000 bytes, gzip. */
const LIMITS = {
  "hooks without components": 30,
  "before the first answer": 45,
  "with Markdown and cards": 93,
  "a form or a payment": 7,
  "a chart": 68,
  "`highlight()` with one language": 15,
  "`math()`": 62,
  "`mermaid()`, without Mermaid": 3,
} as const;

/** Libraries that no page loads before it needs them. */
const LATER = ["marked", "remend", "decode-named-character-reference", "chart.js"];
const OPTIONAL = ["highlight.js", "temml"];

let all: ReadonlyMap<string, Rolldown.OutputChunk>;

beforeAll(async () => {
  const { output } = (await build({
    configFile: false,
    logLevel: "error",
    mode: "production",
    root: join(import.meta.dirname, ".."),
    resolve: { conditions: ["@turnstream/source", "module", "browser", "production"] },
    build: {
      write: false,
      minify: true,
      modulePreload: false,
      rolldownOptions: {
        input: {
          thread: ENTRY,
          hooks: join(import.meta.dirname, "hooks-entry.ts"),
          highlight: join(source, "highlight/index.ts"),
          math: join(source, "math/index.ts"),
          mermaid: join(source, "mermaid/index.ts"),
        },
        preserveEntrySignatures: "strict",
        external: [/^react(-dom)?($|\/)/],
      },
    },
  })) as Rolldown.RolldownOutput;
  all = new Map(output.flatMap((file) => (file.type === "chunk" ? [[file.fileName, file]] : [])));
}, 120_000);

/** Returns the chunks that load with these modules, which are entries or dynamic imports. */
function load(...modules: readonly string[]): Set<Rolldown.OutputChunk> {
  const found = modules.map((module) => {
    const chunk = [...all.values()].find(({ facadeModuleId }) => facadeModuleId?.endsWith(module) === true);
    if (chunk === undefined) throw new Error(`${module} has no chunk`);
    return chunk;
  });
  const seen = new Set(found);
  for (const chunk of seen)
    for (const name of chunk.imports) {
      const next = all.get(name);
      if (next !== undefined) seen.add(next);
    }
  return seen;
}

function measure(chunks: ReadonlySet<Rolldown.OutputChunk>): number {
  return gzipSync([...chunks].map(({ code }) => code).join("")).length / 1_000;
}

const listLibraries = (chunks: ReadonlySet<Rolldown.OutputChunk>): string[] => {
  const modules = [...chunks].flatMap(({ moduleIds }) => moduleIds);
  return [...LATER, ...OPTIONAL].filter((library) =>
    modules.some((id) => id.includes(`/node_modules/${library}/`)),
  );
};

const ANSWER = ["first-load-entry.ts", "content/markdown-chunk.tsx", "cards/cards-chunk.ts"];
const PARTS: Readonly<Record<keyof typeof LIMITS, readonly string[]>> = {
  "hooks without components": ["hooks-entry.ts"],
  "before the first answer": ["first-load-entry.ts"],
  "with Markdown and cards": ANSWER,
  "a form or a payment": ["cards/requests-chunk.ts"],
  "a chart": ["content/chart-chunk.ts"],
  "`highlight()` with one language": [
    "highlight/index.ts",
    "highlight/highlight-chunk.tsx",
    "languages/typescript.js",
  ],
  "`math()`": ["math/index.ts", "math/math-chunk.tsx"],
  "`mermaid()`, without Mermaid": ["mermaid/index.ts", "mermaid/mermaid-chunk.tsx"],
};

test.each(Object.entries(LIMITS))("%s loads at most %i kB", (name, limit) => {
  const modules = PARTS[name as keyof typeof LIMITS];
  const isWhole = modules[0]?.endsWith("-entry.ts") === true;
  // Optional parts come in addition to what an answer loads.
  const before = isWhole ? new Set<Rolldown.OutputChunk>() : load(...ANSWER);
  const kB = measure(new Set([...load(...modules)].filter((chunk) => !before.has(chunk))));
  expect(kB).toBeLessThanOrEqual(limit);
  // A limit far above the figure would not notice a growth.
  expect(kB).toBeGreaterThan(limit * 0.6);
});

test("large libraries load when they are needed", () => {
  expect(listLibraries(load("first-load-entry.ts"))).toEqual([]);
  expect(listLibraries(load(...ANSWER))).toEqual(LATER.slice(0, 3));
  for (const name of ["highlight", "math", "mermaid"])
    expect(listLibraries(load(`${name}/index.ts`)), name).toEqual([]);
});

test("docs/performance.md names the same limits", () => {
  const text = readFileSync(join(import.meta.dirname, "../../../docs/performance.md"), "utf8");
  for (const [name, limit] of Object.entries(LIMITS)) expect(text).toContain(`| ${name} | ${limit} kB |`);
});
