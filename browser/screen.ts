/**
 * A thread as it stands on a screen, as lines that can be compared: what every person at that point of the log must see.
 * Left out is what is a person's own: what is folded open or shut, what is typed, where the focus is; and clocks, which
 * tell of the moment. So are the composer and the banner, which stand outside of the thread. Never changes the page, but for `openAll`.
 */
import type { Page } from "playwright-core";

/** Everything that can be folded, opened: so that what is inside can be compared too. */
export async function openAll(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const shut =
      ".ts-turns [aria-expanded=false]:not([aria-haspopup]):not([popovertarget]):not(.ts-text *):not([disabled])";
    // What opens may hold more that is shut. Some things don't open, and must not hold us up.
    for (let round = 0; round < 6; round++) {
      const found = [...document.querySelectorAll<HTMLElement>(shut)];
      if (found.length === 0) return;
      for (const button of found) button.click();
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    }
  });
}

export async function readScreen(page: Page): Promise<string> {
  return await page.evaluate(() => {
    const SKIPPED = "script, style, template, time, [role=timer], [aria-live=polite], [popover]";
    const COMPARED = ["role", "aria-label", "aria-busy", "href", "src", "alt", "title", "disabled"];
    const lines: string[] = [];

    // Signed addresses differ from one connection to the next.
    const signed = /\/blobs\/[^/?#]+/;

    function describe(element: Element): string {
      const classes = [...element.classList].filter((name) => name.startsWith("ts-")).toSorted();
      const own = [...element.attributes]
        .filter(
          ({ name }) => COMPARED.includes(name) || (name.startsWith("data-") && !/open|state/.test(name)),
        )
        .map(({ name, value }) => `${name}=${value.replace(signed, "/blobs/…")}`)
        .toSorted();
      const tag = element.tagName.toLowerCase();
      const plain = (tag === "div" || tag === "span") && classes.length === 0 && own.length === 0;
      return plain
        ? ""
        : [tag, ...classes.map((name) => `.${name}`), ...own.map((each) => `[${each}]`)].join("");
    }

    function visit(node: Node, depth: number): void {
      if (node instanceof Text) {
        const text = node.data.replaceAll(/\s+/g, " ").trim();
        if (text !== "") lines.push(`${"  ".repeat(depth)}"${text}"`);
        return;
      }
      if (!(node instanceof Element) || node.matches(SKIPPED)) return;
      if (node instanceof HTMLElement && node.hidden) return;
      const line = describe(node);
      if (line !== "") lines.push(`${"  ".repeat(depth)}${line}`);
      if (node instanceof SVGElement) return;
      for (const child of node.childNodes) visit(child, line === "" ? depth : depth + 1);
    }

    for (const thread of document.querySelectorAll(".ts-turns")) visit(thread, 0);
    return lines.join("\n");
  });
}

/** What can be read on it, as a person would say it aloud. */
export async function readText(page: Page): Promise<string> {
  const text = await page.evaluate(() => document.querySelector<HTMLElement>(".ts-turns")?.innerText ?? "");
  return text.replaceAll(/\s+/g, " ").trim();
}
