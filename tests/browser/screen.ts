/**
 * `readScreen` returns a thread as comparable lines: what every user must see at that point of the log.
 *
 * Invariant: it excludes state of one user: expanded parts, typed text and the focus. It also excludes clocks, and the
 * composer and banner outside of the thread. Only `openAll` changes the page.
 */
import type { Page } from "playwright-core";

/** Expands everything that can be expanded, so that its content is compared too. */
export async function openAll(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const shut =
      ".ts-turns [aria-expanded=false]:not([aria-haspopup]):not([popovertarget]):not(.ts-text *):not([disabled])";
    for (const details of document.querySelectorAll<HTMLDetailsElement>(".ts-turns details"))
      details.open = true;
    // Expanded parts may contain more collapsed ones. The number of rounds is limited, because some never expand.
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

    // Signed URLs differ between connections.
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

/** Returns the visible text of the thread. */
export async function readText(page: Page): Promise<string> {
  const text = await page.evaluate(() => document.querySelector<HTMLElement>(".ts-turns")?.innerText ?? "");
  return text.replaceAll(/\s+/g, " ").trim();
}
