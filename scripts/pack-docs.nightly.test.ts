/** Tests that llms.txt is current, and that every link of a packed README or page leads to a file of its tarball. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { describe, expect, test } from "vitest";

import { createLlmsTxt } from "./llms-txt.ts";
import { moveLinks, packages, packDocs } from "./pack-docs.ts";
import { root } from "./run-command.ts";

const read = (path: string) => readFileSync(join(root, path), "utf8");

function listLinks(text: string): string[] {
  const links: string[] = [];
  moveLinks(text, (link) => {
    links.push(link);
    return link;
  });
  return links;
}

/** Returns the links of a file in a tarball that lead nowhere. */
function findBroken(text: string, path: string, isThere: (target: string) => boolean): string[] {
  return listLinks(text).filter((link) => {
    if (/^(#|https?:)/.test(link)) return false;
    return !isThere(join(dirname(path), link.split("#")[0] ?? ""));
  });
}

describe.each(packages)("the tarball of %s", (name) => {
  const folder = join(root, "packages", name);
  const docs = packDocs(name);
  const { files } = JSON.parse(read(`packages/${name}/package.json`)) as { files: string[] };
  const isThere = (target: string) => {
    const [top = ""] = target.split("/");
    return (
      docs.has(target) || ((top === "README.md" || files.includes(top)) && existsSync(join(folder, target)))
    );
  };

  test("has its pages, and the README names one", () => {
    expect(files.includes("docs")).toBe(docs.size > 0);
    expect(read(`packages/${name}/README.md`).includes("`docs/")).toBe(docs.size > 0);
  });

  test("has no link that leads out of it", () => {
    expect(findBroken(read(`packages/${name}/README.md`), "README.md", isThere)).toEqual([]);
    for (const [path, text] of docs) expect(findBroken(text, path, isThere)).toEqual([]);
  });

  test("a link out of it is found", () => {
    expect(findBroken("[a](../../docs/agents.md) [b](src/none.ts)", "README.md", isThere)).toHaveLength(2);
  });
});

test("links in code stay, and other links to nothing become text", () => {
  const text = "See [a](a.md) and [b](b.md#x).\n```ts\nlist[0](a.md)\n```\n[a](a.md)";
  const moved = moveLinks(text, (link) => (link === "a.md" ? null : `docs/${link}`));
  expect(moved).toBe("See a and [b](docs/b.md#x).\n```ts\nlist[0](a.md)\n```\na");
});

test("llms.txt is current; otherwise run `npm run llms`", () => {
  const text = read("llms.txt");
  expect(text).toBe(createLlmsTxt(read("README.md"), read("docs/README.md")));
  for (const link of listLinks(text)) expect(existsSync(join(root, link))).toBe(true);
});
