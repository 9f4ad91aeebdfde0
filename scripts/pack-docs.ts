/**
 * `packDocs` returns the pages of a package's tarball: those of `docs/` that its users need. `npm run build` writes them
 * to `packages/NAME/docs`, which git ignores.
 *
 * Invariant: every link in a packed page leads to a file of the same tarball, or to the web. Other links become text,
 * because nothing is at their address.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { root } from "./run-command.ts";

/** The pages of each package. The server is what every app installs, so it has all of them. */
const PAGES: Readonly<Record<string, readonly string[]>> = {
  server: ["docs/*.md"],
  client: ["docs/{client,http,sharing,sign-in,start}.md"],
  react: ["docs/{react,react-content,sharing,sign-in,start,styling}.md"],
  protocol: ["docs/{PROTOCOL,DIALECTS,resuming}.md"],
  dialects: ["docs/DIALECTS.md"],
  next: ["docs/{nextjs,sign-in,start}.md"],
  mcp: ["docs/mcp.md"],
  s3: ["docs/files.md"],
  knowledge: ["docs/knowledge.md"],
  payments: ["docs/payments.md"],
  tools: ["docs/built-in-tools.md"],
  cli: ["docs/{backup-and-restore,debug-a-stuck-turn,managed-redis,start,upgrade}.md"],
};

/** All packages that are published. One without pages has only its README. */
export const packages: readonly string[] = globSync("packages/*/package.json", { cwd: root })
  .map((file) => basename(dirname(file)))
  .toSorted();

/** @returns the text of each page by its path in the package */
export function packDocs(name: string): Map<string, string> {
  const pages = (PAGES[name] ?? []).flatMap((pattern) => globSync(pattern, { cwd: root })).toSorted();
  const packed = new Map(pages.map((page) => [page, `docs/${basename(page)}`]));
  return new Map(
    pages.map((page) => {
      const text = readFileSync(join(root, page), "utf8");
      return [`docs/${basename(page)}`, moveLinks(text, (link) => findTarget(link, page, name, packed))];
    }),
  );
}

/** Returns the address of a link in the packed page, or null if its target is not in the tarball. */
function findTarget(
  link: string,
  page: string,
  name: string,
  packed: ReadonlyMap<string, string>,
): string | null {
  if (/^(#|[a-z]+:)/.test(link)) return link;
  const [path = "", anchor] = link.split("#");
  const target = join(dirname(page), path);
  const own = `packages/${name}/`;
  const there = packed.get(target) ?? (isPacked(target, own) ? target.slice(own.length) : null);
  if (there === null) return null;
  const moved = there.startsWith("docs/") ? basename(there) : `../${there}`;
  return anchor === undefined ? moved : `${moved}#${anchor}`;
}

/** Whether a file of the package itself is in its tarball. */
function isPacked(target: string, own: string): boolean {
  return target.startsWith(own) && /^(README\.md|src\/)/.test(target.slice(own.length));
}

/** Replaces the links outside of fenced blocks. A link whose target is null becomes its own text. */
export function moveLinks(text: string, move: (link: string) => string | null): string {
  const parts = text.split(/(^```[^\n]*\n.*?^```$)/ms);
  return parts
    .map((part) =>
      part.startsWith("```")
        ? part
        : part.replaceAll(/!?\[([^\]]*)\]\(([^)\s]+)\)/g, (whole, label: string, link: string) => {
            const moved = move(link);
            return moved === null ? label : whole.replace(`(${link})`, `(${moved})`);
          }),
    )
    .join("");
}

if (import.meta.main) {
  for (const name of Object.keys(PAGES)) {
    const folder = join(root, "packages", name);
    rmSync(join(folder, "docs"), { recursive: true, force: true });
    mkdirSync(join(folder, "docs"));
    for (const [path, text] of packDocs(name)) writeFileSync(join(folder, path), text);
  }
}
