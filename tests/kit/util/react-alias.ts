/**
 * `reactAlias` chooses the React of the tests and of their pages: 19, or 18 with TURNSTREAM_REACT=18.
 * Invariant: React 18 is in a workspace of its own, `react-18`, because `react-dom` loads the `react` of its own folder.
 * With an alias of the package alone, two versions of React would meet in one page.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** A major version of React. Another value of the variable is a mistake that must not choose the default silently. */
const REACT_VERSION = readVersion();

function readVersion(): "18" | "19" {
  const wanted = process.env["TURNSTREAM_REACT"] ?? "19";
  if (wanted === "18" || wanted === "19") return wanted;
  throw new Error(`TURNSTREAM_REACT must be 18 or 19, got ${wanted}.`);
}

interface Alias {
  readonly find: RegExp;
  readonly replacement: string;
}

export function reactAlias(): Alias[] {
  if (REACT_VERSION === "19") return [];
  // npm chooses the folder that contains both.
  const { resolve } = createRequire(join(import.meta.dirname, "..", "react-18", "package.json"));
  const folder = dirname(dirname(resolve("react/package.json")));
  return [{ find: /^(react|react-dom)(?=$|\/)/, replacement: `${folder}/$1` }];
}
