/**
 * Checks of any document: `checkListed` finds pages without a link, `checkTwice` finds names that are explained twice.
 * Each check returns a list of problems.
 *
 * Does not read files.
 */
import { readLinks } from "./markdown.ts";

/** Returns the pages that a text doesn't link to. */
export function checkListed(text: string, pages: readonly string[]): string[] {
  const links = new Set(readLinks(text));
  return pages.filter((page) => !links.has(page)).map((page) => `no link to ${page}`);
}

/** Returns the bold names at the start of list items that a section explains more than once. */
export function checkTwice(text: string): string[] {
  return text.split(/^#+ /m).flatMap((section) => {
    const lists = section.match(/^- .*$/gm) ?? [];
    const names = lists.flatMap((item) =>
      [...item.matchAll(/(?<=^- |[.;] )\*\*(.+?)\*\*/g)].map((match) => match[1] ?? ""),
    );
    const twice = names.filter((name, n) => names.indexOf(name) < n);
    return twice.map((name) => `${name} is explained twice under ${section.split("\n")[0]}`);
  });
}
