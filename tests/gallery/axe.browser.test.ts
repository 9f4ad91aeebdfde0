/** Runs axe on one state of each component, and on the gallery itself. */
import axe from "axe-core";
import { expect, test } from "vitest";
import { pageUrl } from "@turnstream/browser/pages.ts";
import { openStage, withBrowser } from "./stage-page.ts";
import { reportViolations, violations } from "./violations.ts";

withBrowser();

const componentOf = (name: string) => name.split("/")[0];

test("axe finds no violation in the first state of each component", async () => {
  const { report, shown } = await reportViolations("light", (names) =>
    names.filter((name, n) => names.findIndex((other) => componentOf(other) === componentOf(name)) === n),
  );
  expect(shown.length).toBeGreaterThan(10);
  expect(report).toEqual({});
});

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
