/** Runs axe on every state in both themes. A push runs it on one state of each component (axe.browser.test.ts). */
import { expect, test } from "vitest";
import { withBrowser } from "./stage-page.ts";
import { reportViolations } from "./violations.ts";

withBrowser();

test.each(["light", "dark"] as const)(
  "U01 U02 U03 U04 U05 U06 U07: axe finds no violation in any state, %s",
  async (theme) => {
    const { report, shown } = await reportViolations(theme, (names) => names);
    expect(shown.length).toBeGreaterThan(100);
    expect(report).toEqual({});
  },
);
