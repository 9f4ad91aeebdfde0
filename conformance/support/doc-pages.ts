/**
 * Checks of whole documents: `checkListed` finds pages without a link, `checkTwice` finds repeated entries, and
 * `checkOptionTables` checks the columns of option tables. Each takes the text and returns what is wrong with it.
 */
import { readLinks, readTables } from "./markdown.ts";

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

const OPTION_COLUMNS = "| Option | Type | Default | Description |";

/** Option tables with other columns than the four, and options without a type, default or description. */
export function checkOptionTables(text: string): string[] {
  const headers = text.match(/^\| *options? *\|.*$/gim) ?? [];
  const rows = readTables(text, "Option").flat();
  return [
    ...headers.filter((header) => header !== OPTION_COLUMNS).map((header) => `the columns ${header}`),
    ...rows
      .filter((cells) => cells.length !== 4 || cells.includes(""))
      .map((cells) => `the row of ${cells.join(" | ")}`),
  ];
}
