/**
 * `watchThread` takes down, at every change of a thread, what its user should not see without a click: JSON, and a label
 * that is there twice. `readFaults` returns it, for tests.
 *
 * Invariant: the header of a group repeats the label of its newest call while several run (requirement U04), so only a
 * header above one call counts.
 */
import type { Page } from "playwright-core";

declare global {
  interface Window {
    threadFaults?: Set<string>;
  }
}

export async function watchThread(page: Page): Promise<void> {
  await page.evaluate(() => {
    const faults = new Set<string>();
    window.threadFaults = faults;
    const look = (): void => {
      const thread = document.querySelector<HTMLElement>(".ts-turns");
      if (thread === null) return;
      const textsOf = (selector: string, root: ParentNode = thread): string[] =>
        [...root.querySelectorAll<HTMLElement>(selector)].map(({ innerText }) => innerText.trim());
      const json = /\{\s*"[^"]*"\s*:|\[\s*[{"]|\{\s*\}/.exec(thread.innerText);
      if (json !== null) faults.add(`JSON: ${thread.innerText.slice(json.index, json.index + 80)}`);
      const labels = textsOf(".ts-tool-label, .ts-artifact-head bdi, [aria-expanded=false] .ts-group-title");
      for (const group of thread.querySelectorAll(".ts-group")) {
        const calls = textsOf(".ts-tool-label", group);
        if (calls.length === 1) labels.push(...textsOf("[aria-expanded=true] .ts-group-title", group));
      }
      for (const label of labels.filter((each, n) => labels.indexOf(each) !== n))
        faults.add(`twice: ${label}`);
    };
    const changes = { subtree: true, childList: true, characterData: true, attributes: true };
    new MutationObserver(look).observe(document.body, changes);
    look();
  });
}

export async function readFaults(page: Page): Promise<string[]> {
  return await page.evaluate(() => [...(window.threadFaults ?? ["the thread is not watched"])]);
}
