/**
 * `createLlmsTxt` lists the documentation for language models, as llmstxt.org describes it: what Turnstream is, and one
 * line per page. `npm run llms` writes it to `llms.txt`.
 *
 * Invariant: it has exactly the pages of docs/README.md, which is the only list of them.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { moveLinks } from "./pack-docs.ts";
import { root } from "./run-command.ts";

/** @param readme README.md, whose first paragraph is the summary */
export function createLlmsTxt(readme: string, index: string): string {
  const [title = "", summary = ""] = readme.split("\n\n");
  const sections = index.slice(index.indexOf("\n## "));
  const moved = moveLinks(sections, (link) => (link.startsWith("../") ? link.slice(3) : `docs/${link}`));
  return `${title}\n\n> ${summary}\n${moved}`;
}

const read = (path: string): string => readFileSync(join(root, path), "utf8");

if (import.meta.main)
  writeFileSync(join(root, "llms.txt"), createLlmsTxt(read("README.md"), read("docs/README.md")));
