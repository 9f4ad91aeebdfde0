/** Tests that docs/nextjs.md shows the files that tests/browser/next.browser.nightly.test.ts builds and runs. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");
const TEMPLATE = join(root, "packages/create/templates/next");

const page = readFileSync(join(root, "docs/nextjs.md"), "utf8");
const [template = "", live = ""] = page.split("\n## Render a session on the server\n");
const shown = readFiles(template);

function readFiles(text: string): Map<string, string> {
  const fences = text.matchAll(/^```tsx? (\S+)\n([\s\S]*?)^```$/gm);
  return new Map([...fences].map(([, path = "", body = ""]) => [path, body]));
}

test("docs/nextjs.md shows every code file of the template, and no other", () => {
  const files = readdirSync(TEMPLATE, { recursive: true, encoding: "utf8" });
  expect([...shown.keys()].toSorted()).toEqual(files.filter((path) => /[.]tsx?$/.test(path)).toSorted());
});

test.each([...shown])("docs/nextjs.md shows %s as it is in the template", (path, body) => {
  expect(body).toBe(readFileSync(join(TEMPLATE, path), "utf8"));
});

test("docs/nextjs.md shows the page that the test app renders on the server", () => {
  const files = readFiles(live);
  expect(files.size).toBe(2);
  for (const [path, body] of files) {
    const source = readFileSync(join(root, "tests/browser/next-app", path), "utf8");
    expect(body).toBe(source.replace(/^\/[*][*] .*\n/m, ""));
  }
});
