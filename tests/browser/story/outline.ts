/** `readOutline` summarizes a thread line by line in reading order, for comparison with a story. */
import type { Page } from "playwright-core";

export async function readOutline(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    /** How to summarize each part, by its class. */
    const PARTS: Readonly<Record<string, (part: HTMLElement) => string>> = {
      "ts-bubble": (part) => `you: ${part.innerText}`,
      "ts-chip-name": (part) => `file: ${part.innerText}`,
      "ts-group-title": (part) => `group: ${part.innerText}`,
      "ts-thinking-body": (part) => `thought: ${part.innerText}`,
      "ts-step": (part) =>
        `${part.dataset["dot"] ?? "?"}: ${part.querySelector<HTMLElement>(".ts-tool-label")?.innerText ?? ""}`,
      "ts-text": (part) => `text: ${part.innerText}`,
      "ts-card": (part) =>
        [
          `${part.dataset["card"] ?? "?"}: ${part.querySelector<HTMLElement>(".ts-card-title")?.innerText ?? ""}`,
          ...[...part.querySelectorAll<HTMLElement>("dt, dd, .ts-outcome")].map((each) => each.innerText),
        ].join(" / "),
      // Pictures that a tool streams have no switch. The page with Svelte doesn't show them.
      "ts-artifact": (part) => {
        const kind = part.querySelector("figcaption span");
        return kind === null ? "" : `artifact: ${kind.textContent}`;
      },
      "ts-files-head": (part) => `files: ${part.innerText}`,
      "ts-stopped": (part) => `stopped: ${part.innerText}`,
      "ts-error": (part) => `error: ${part.querySelector("span")?.innerText ?? ""}`,
    };
    const names = Object.keys(PARTS);
    const found = document.querySelectorAll<HTMLElement>(names.map((name) => `.ts-turns .${name}`).join());
    const lines = [...found].map((part) => {
      const name = names.find((each) => part.classList.contains(each)) ?? "";
      return (PARTS[name]?.(part) ?? "").replaceAll(/\s+/g, " ").trim();
    });
    return lines.filter((line) => line !== "");
  });
}
