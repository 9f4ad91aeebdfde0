/**
 * Takes the pictures in `docs/images`: `npm run docs:images`. Those of components are states of the gallery. Those of the
 * README show the market assistant while an order waits for approval, in English.
 * Invariant: the light and the dark picture of the README show the same page in the same state.
 */
import { join } from "node:path";
import { startExample } from "@turnstream/browser/start-example.ts";
import type { Browser } from "playwright-core";
import { takePicture, withStage } from "./take-picture.ts";

const fileOf = (name: string): string => join(import.meta.dirname, "../../docs/images", `${name}.png`);

/** The states that docs show, by the name of their picture. */
const STATES = { approval: "approval/pending", group: "group/running-7", payment: "payment/pending" };
/** A suggestion of the example. */
const ORDER = "Buy 100 VNM for me if it is below 83,000.";
const WIDTH = 720;
const README = { width: 1180, height: 860 };

async function takeMarketAssistant(browser: Browser): Promise<void> {
  const example = await startExample("market-assistant", ["--port", "0", "--speed", "5"]);
  try {
    const page = await browser.newPage({ viewport: README, locale: "en-US", reducedMotion: "reduce" });
    page.setDefaultTimeout(60_000);
    await page.goto(example.url);
    await page.getByRole("button", { name: ORDER, exact: true }).click();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    // Lets the title of the session arrive, and takes the focus from the field.
    await page.waitForTimeout(1_500);
    await page.locator(".ts-composer textarea").blur();
    for (const theme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: theme });
      await page.screenshot({ path: fileOf(`market-assistant-${theme}`) });
    }
  } finally {
    await example.interrupt();
  }
}

await withStage(async ({ browser, open }) => {
  const page = await open();
  for (const [name, state] of Object.entries(STATES))
    await takePicture(page, { file: fileOf(name), state, theme: "light", width: WIDTH });
  await takeMarketAssistant(browser);
});
console.log("The pictures are in docs/images.");
