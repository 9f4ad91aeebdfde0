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

function datePart(page: Page, part: "day" | "month" | "year"): Locator {
  return page.locator(`.ts-date-part[data-unit=${part}]`);
}

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
  await datePart(page, "month").fill("4");
  await datePart(page, "day").fill("30");
  await datePart(page, "year").fill("1990");
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

test("a date has the order and the names of the language, and the next part gets the focus", async () => {
  for (const [locale, names] of [
    ["en", ["month", "day", "year"]],
    ["vi", ["Ngày", "Tháng", "Năm"]],
    ["zh-TW", ["年", "月", "日"]],
  ] as const) {
    const page = await openStage({ address: { locale } });
    await show(page, "form/fields");
    const parts = page.locator(".ts-date-part");
    expect(await parts.evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")))).toEqual(names);
    await parts.first().focus();
    const typed = { en: "04301990", vi: "30041990", "zh-TW": "19900430" }[locale];
    await page.keyboard.type(typed);
    expect(await page.locator(".ts-date-calendar").inputValue()).toBe("1990-04-30");
    await page.context().close();
  }
});

test("a date that doesn't exist and a half one are problems, and the calendar sets all parts", async () => {
  const page = await openStage();
  await show(page, "form/fields");
  const problem = page.locator("[data-type=date] .ts-field-problem");
  await datePart(page, "month").fill("2");
  await datePart(page, "day").fill("30");
  await page.getByLabel("Full name").focus();
  await expect.poll(() => problem.innerText()).toBe("Enter an existing date.");
  await datePart(page, "year").fill("2026");
  await expect.poll(() => problem.innerText()).toBe("Enter an existing date.");
  await page.locator(".ts-date-calendar").evaluate((input: HTMLInputElement) => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(input, "2026-02-28");
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  const values = () =>
    page.locator(".ts-date-part").evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value));
  await expect.poll(values).toEqual(["02", "28", "2026"]);
  await expect.poll(() => problem.innerText()).toBe("");
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
  await datePart(page, "day").fill("31");
  const send = page.locator(".ts-edit [type=submit]");
  // April has 30 days.
  expect(await send.isDisabled()).toBe(true);
  await datePart(page, "month").fill("5");
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
