/** Tests the inputs of forms and of edited approvals in Chromium: problems, dates, files, checkboxes, typed arguments. */
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { openStage, show, withBrowser } from "./stage-page.ts";

withBrowser();

/** Returns the label of the field that has the focus. */
async function focusedField(page: Page): Promise<string> {
  return await page.evaluate(() => {
    const field = document.activeElement?.closest(".ts-field");
    return field?.querySelector("label bdi, .ts-label bdi")?.textContent ?? "";
  });
}

const dateInput = (page: Page): Locator => page.locator(".ts-card input[type=date]");

test("a rejected form lists its problems, and each link moves the focus to its field", async () => {
  const page = await openStage();
  await show(page, "form/fields");
  await page.keyboard.press("Tab");
  await page.locator("form [type=submit]").focus();
  await page.keyboard.press("Enter");
  const list = page.locator(".ts-problems");
  await list.waitFor();
  expect(await focusedField(page)).toBe("Full name");
  const names = await list.locator("a").allInnerTexts();
  expect(names).toEqual([
    "Full name",
    "E-mail",
    "Date of birth",
    "Years of experience",
    "Risk",
    "I have read the terms",
  ]);
  const address = page.url();
  for (const name of names) {
    await list.getByRole("link", { name }).focus();
    await page.keyboard.press("Enter");
    expect(await focusedField(page)).toBe(name);
  }
  expect(page.url()).toBe(address);
  // The field doesn't move in the form while the user corrects it.
  const position = () =>
    page
      .getByLabel("Full name")
      .evaluate(
        (input) => input.getBoundingClientRect().y - (input.closest("form")?.getBoundingClientRect().y ?? 0),
      );
  const before = await position();
  await page.getByLabel("Full name").fill("An");
  await list.locator("[data-done]", { hasText: "Full name" }).waitFor();
  expect(await list.innerText()).toContain("Check 5 fields.");
  expect(await position()).toBeCloseTo(before, 0);
});

test("a form with one problem moves the focus to its field, without a list", async () => {
  const page = await openStage();
  await show(page, "form/fields");
  await page.getByLabel("Full name").fill("An");
  await page.getByLabel("E-mail").fill("an@example.org");
  await dateInput(page).fill("1990-04-30");
  await page.getByLabel("Years of experience").fill("6");
  await page.getByLabel("Risk").selectOption("mid");
  await page.locator("form [type=submit]").click();
  await page.waitForFunction(() => document.activeElement?.matches("input[type=checkbox]"));
  expect(await focusedField(page)).toBe("I have read the terms");
  expect(await page.locator(".ts-problems").count()).toBe(0);
  await page.keyboard.press("Space");
  await page.keyboard.press("Enter");
  await expect
    .poll(() => page.evaluate(() => window.gallery?.commands.find(({ name }) => name === "submitForm")?.args))
    .toMatchObject([expect.anything(), { born: "1990-04-30", years: 6, risk: "mid", terms: true }]);
});

test("a date that doesn't exist and a half one are problems, until the date is complete", async () => {
  const page = await openStage();
  await show(page, "form/fields");
  const problem = page.locator("[data-type=date] .ts-field-problem");
  await dateInput(page).focus();
  // The order of the browser's language.
  await page.keyboard.type("0230");
  await page.getByLabel("Full name").focus();
  await expect.poll(() => problem.innerText()).toBe("Enter an existing date.");
  // What the user has typed stays.
  expect(await dateInput(page).evaluate((input: HTMLInputElement) => input.validity.badInput)).toBe(true);
  await dateInput(page).focus();
  await page.keyboard.type("02302026");
  await page.getByLabel("Full name").focus();
  await expect.poll(() => problem.innerText()).toBe("Enter an existing date.");
  await dateInput(page).fill("2026-02-28");
  await expect.poll(() => problem.innerText()).toBe("");
});

test("Enter in half a date submits nothing, and names the problem", async () => {
  const page = await openStage();
  await show(page, "form/fields");
  await dateInput(page).focus();
  await page.keyboard.type("02");
  await page.keyboard.press("Enter");
  const problem = page.locator("[data-type=date] .ts-field-problem");
  await expect.poll(() => problem.innerText()).toBe("Enter an existing date.");
  const commands = await page.evaluate(() => window.gallery?.commands.map(({ name }) => name));
  expect(commands).not.toContain("submitForm");
});

test("a keyboard reaches the file input, which shows the focus and takes a file", async () => {
  const page = await openStage();
  await show(page, "form/fields");
  await page.getByLabel("Anything else").focus();
  await page.keyboard.press("Tab");
  expect(await focusedField(page)).toBe("Identity card");
  const outline = await page.locator(".ts-file-pick").evaluate((pick) => getComputedStyle(pick).outlineStyle);
  expect(outline).toBe("solid");
  const file = { name: "card.pdf", mimeType: "application/pdf", buffer: Buffer.from("card") };
  await page.locator("[data-type=file] input").setInputFiles(file);
  await page.getByText("card.pdf").waitFor();
});

test("edited arguments have the input of their type, and are sent with their type", async () => {
  const page = await openStage();
  await show(page, "approval/editing");
  expect(await focusedField(page)).toBe("Stock");
  await page.getByLabel("Side").selectOption("sell");
  await page.getByLabel("Limit price").fill("84000.5");
  const send = page.locator(".ts-edit [type=submit]");
  await dateInput(page).fill("");
  expect(await send.isDisabled()).toBe(true);
  await dateInput(page).fill("2026-05-31");
  await page.getByLabel("All or none").uncheck();
  await send.click();
  const [command] = await page.evaluate(() => window.gallery?.commands ?? []);
  expect(command?.args[1]).toMatchObject({
    decision: "edit",
    digest: "d_1",
    args: {
      symbol: "VNM",
      side: "sell",
      quantity: 100,
      limit_price: 84_000.5,
      good_until: "2026-05-31",
      all_or_none: false,
    },
  });
});
