/** `violations` runs axe on a page or frame that has its script, and `reportViolations` on states of the gallery. */
import axe from "axe-core";
import type { Frame, Page } from "playwright-core";
import { openStage, show, stateNames } from "./stage-page.ts";

/** Returns the violations, one line for each rule and element. */
export async function violations(page: Page | Frame): Promise<string[]> {
  return await page.evaluate(async () => {
    const { violations: found } = await (window as unknown as { axe: typeof axe }).axe.run(document, {
      resultTypes: ["violations"],
    });
    return found.flatMap(({ id, nodes }) =>
      nodes
        .slice(0, 3)
        .map(({ target, failureSummary }) => `${id} at ${target.join(" ")}: ${failureSummary ?? ""}`),
    );
  });
}

/** @returns the violations by state, and the names of the states that were shown */
export async function reportViolations(
  theme: "light" | "dark",
  choose: (names: readonly string[]) => readonly string[],
): Promise<{ readonly report: Readonly<Record<string, string[]>>; readonly shown: readonly string[] }> {
  const page = await openStage({ address: { theme }, reducedMotion: "reduce" });
  await page.addScriptTag({ content: axe.source });
  const report: Record<string, string[]> = {};
  const shown = choose(await stateNames(page));
  for (const name of shown) {
    await show(page, name);
    // A page of the gateway is a document of its own.
    const [, frame] = page.frames();
    await frame?.addScriptTag({ content: axe.source });
    const found = await violations(frame ?? page);
    if (found.length > 0) report[name] = found;
  }
  return { report, shown };
}
