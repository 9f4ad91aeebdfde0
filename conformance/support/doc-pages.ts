/**
 * Checks of the documents as a whole: every page can be found, and no list says the same thing twice. A check takes the
 * text and says what is wrong with it. Never reads a file itself.
 */
import { readLinks } from "./markdown.ts";

/** Pages that a text doesn't link to. */
export function checkListed(text: string, pages: readonly string[]): string[] {
  const links = new Set(readLinks(text));
  return pages.filter((page) => !links.has(page)).map((page) => `no link to ${page}`);
}

/** Things with a name of their own, in bold, that are explained more than once under a heading. */
export function checkTwice(text: string): string[] {
  return text.split(/^#+ /m).flatMap((section) => {
    const lists = section.match(/^- .*$/gm) ?? [];
    const names = lists.flatMap((item) =>
      [...item.matchAll(/(?<=^- |[.;] )\*\*(.+?)\*\*/g)].map((match) => match[1] ?? ""),
    );
    const twice = names.filter((name, n) => names.indexOf(name) < n);
    return twice.map((name) => `${name} is there twice under ${section.split("\n")[0]}`);
  });
}
