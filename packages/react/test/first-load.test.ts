/**
 * Tests what a page loads before it can show a thread: our code, without the large libraries that load on first use.
 * It bundles the source. `.size-limit.json` sets the same limit for the published files.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { build, type Rolldown } from "vite";

const LIMIT = 45_000;
const LATER = [
  "react-markdown",
  "remark-gfm",
  "rehype-sanitize",
  "marked",
  "remend",
  "micromark",
  "chart.js",
];

async function chunks(): Promise<Map<string, Rolldown.OutputChunk>> {
  const built = (await build({
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
        input: join(import.meta.dirname, "first-load-entry.ts"),
        preserveEntrySignatures: "strict",
        external: [/^react(-dom)?($|\/)/],
      },
    },
  })) as Rolldown.RolldownOutput;
  const { output } = built;
  return new Map(output.flatMap((file) => (file.type === "chunk" ? [[file.fileName, file]] : [])));
}

/** Returns the chunks that load together with `from`. `next` returns the chunks that a chunk imports. */
function reached(
  all: ReadonlyMap<string, Rolldown.OutputChunk>,
  from: Rolldown.OutputChunk,
  next: (chunk: Rolldown.OutputChunk) => readonly string[],
): Set<Rolldown.OutputChunk> {
  const seen = new Set([from]);
  for (const chunk of seen)
    for (const name of next(chunk)) {
      const found = all.get(name);
      if (found !== undefined) seen.add(found);
    }
  return seen;
}

const librariesOf = (found: Iterable<Rolldown.OutputChunk>): string[] => {
  const modules = [...found].flatMap((chunk) => chunk.moduleIds);
  return LATER.filter((library) => modules.some((id) => id.includes(`/node_modules/${library}/`)));
};

test("the first load stays within its limit, and the large libraries load later", async () => {
  const all = await chunks();
  const entry = [...all.values()].find((chunk) => chunk.isEntry);
  if (entry === undefined) throw new Error("nothing was built");
  const first = reached(all, entry, ({ imports }) => imports);
  const everything = reached(all, entry, ({ imports, dynamicImports }) => [...imports, ...dynamicImports]);
  const bytes = gzipSync([...first].map(({ code }) => code).join("")).length;
  expect(librariesOf(first)).toEqual([]);
  expect(librariesOf(everything)).toEqual(LATER);
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThanOrEqual(LIMIT);
});

test("docs/performance.md names the same limit", () => {
  const text = readFileSync(join(import.meta.dirname, "../../../docs/performance.md"), "utf8");
  expect(text).toContain(`at most ${LIMIT / 1000} KB gzip`);
});
