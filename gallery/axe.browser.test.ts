/** Runs axe on every state, in one theme or in both (`statesOf`), and on the gallery itself. */
import axe from "axe-core";
import type { Frame, Page } from "playwright-core";
import { expect, test } from "vitest";
import { pageUrl } from "@turnstream/browser/pages.ts";
import { openStage, show, stateNames, statesOf, withBrowser } from "./stage-page.ts";

withBrowser();

/** Returns the violations, one line for each rule and element. */
async function violations(page: Page | Frame): Promise<string[]> {
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

test.each([
  ["light", 0],
  ["dark", 1],
] as const)(
  "U01 U02 U03 U04 U05 U06 U07: axe finds no violation in any state, %s",
  { timeout: 600_000 },
  async (theme, variant) => {
    const page = await openStage({ address: { theme }, reducedMotion: "reduce" });
    await page.addScriptTag({ content: axe.source });
    const report: Record<string, string[]> = {};
    const names = await stateNames(page);
    for (const name of statesOf(variant, names)) {
      await show(page, name);
      // A page of the gateway is a document of its own.
      const [, frame] = page.frames();
      await frame?.addScriptTag({ content: axe.source });
      const found = await violations(frame ?? page);
      if (found.length > 0) report[name] = found;
    }
    expect(names.length).toBeGreaterThan(100);
    expect(report).toEqual({});
  },
);

test("axe detects a violation", async () => {
  const page = await openStage();
  await page.addScriptTag({ content: axe.source });
  await page.evaluate(() => document.body.insertAdjacentHTML("beforeend", "<main><button></button></main>"));
  expect((await violations(page)).join("\n")).toContain("button-name");
});

test.each(["light", "dark"] as const)("axe finds no violation in the gallery itself, %s", async (theme) => {
  const page = await openStage();
  await page.goto(`${pageUrl("gallery")}/?state=approval/pending&theme=${theme}`);
  await page.waitForSelector(".g-player");
  await page.addScriptTag({ content: axe.source });
  expect(await violations(page)).toEqual([]);
});
