/**
 * Tests the payment card on recorded logs: every status (S08), what the user can do in it, and how a payment is
 * cancelled (S13).
 */
import { Story } from "@turnstream/conformance/scenarios/story.ts";
import type { EventOf, SessionEvent } from "@turnstream/protocol";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { append, openRecorded, start, withRecordedPages } from "./recorded-page.ts";

withRecordedPages();

type Update = Pick<EventOf<"payment.update">, "status" | "by" | "reason">;

const FAR = 4_000_000_000_000;
const CARD = ".ts-payment";
const processing: Update = { status: "processing" };

/** A log with a payment, and the events that follow it. */
class PaymentLog {
  readonly #log = new Story().session("ses_clinic", 7);
  readonly #on: ReturnType<Story["place"]>;
  #version = 0;

  constructor(deadline: number | null = FAR) {
    this.#log.begin("我要預約。");
    this.#log.text(["請先付訂金。"]);
    this.#on = this.#log.place();
    this.#log.add({
      type: "payment.request",
      ...this.#on,
      payment: "pay_1",
      order_no: "TS4QK7M2VXA3",
      amount: 1200,
      currency: "TWD",
      description: "Deposit",
      checkout_url: "https://chat.example/api/v1/payments/checkout/t",
      ...(deadline === null ? {} : { deadline }),
    });
    this.#log.end("requires_interaction");
  }

  get events(): readonly SessionEvent[] {
    return this.#log.events;
  }

  /** Adds changes of the payment and returns their events. */
  update(...updates: readonly Update[]): readonly SessionEvent[] {
    const known = this.events.length;
    for (const update of updates)
      this.#log.add({ type: "payment.update", ...this.#on, version: ++this.#version, ...update });
    return this.events.slice(known);
  }
}

async function open(log: PaymentLog, width = 900): Promise<Page> {
  const page = await openRecorded({ width, height: 700 });
  await start(page, log.events);
  await page.locator(CARD).waitFor();
  return page;
}

const commands = async (page: Page) => await page.evaluate(() => window.recorded?.commands ?? []);
/** In whole pixels: a card that appears is moved, and the browser rounds its box. */
const heightOf = async (page: Page) => Math.round((await page.locator(CARD).boundingBox())?.height ?? 0);
const focusIn = async (page: Page) =>
  await page.evaluate(() => {
    const focused = document.activeElement;
    return focused?.getAttribute("data-action") ?? focused?.className ?? "";
  });

interface Shown {
  readonly status: string;
  readonly actions: readonly string[];
  readonly outcome: string;
}

/** Returns what the card shows. */
async function shown(page: Page): Promise<Shown> {
  const card = page.locator(CARD);
  const actions = await card.locator("a, button").allTextContents();
  return {
    status: (await card.locator(".ts-pill").textContent()) ?? "",
    actions: actions.map((text) => text.replace("chat.example", "").trim()),
    outcome: (await card.locator(".ts-pay-outcome").allTextContents()).join(),
  };
}

const NONE: readonly string[] = [];
const STATES: readonly (readonly [updates: readonly Update[], shown: Shown])[] = [
  [[], { status: "open", actions: ["Pay", "Refresh", "Cancel"], outcome: "" }],
  [[processing], { status: "processing", actions: ["Continue to checkout", "Refresh"], outcome: "" }],
  [
    [processing, { status: "succeeded" }],
    { status: "paid", actions: NONE, outcome: "The payment has been received." },
  ],
  [
    [processing, { status: "failed", reason: "Card declined." }],
    {
      status: "failed",
      actions: NONE,
      outcome: "The payment did not go through.Reason: Card declined.",
    },
  ],
  [
    [{ status: "cancelled", by: "binh" }],
    { status: "cancelled", actions: NONE, outcome: "Bình cancelled the payment." },
  ],
  [
    [{ status: "expired" }],
    { status: "expired", actions: NONE, outcome: "The payment was not completed in time." },
  ],
];

test.each([900, 360])(
  "S08 every status has its text, icon and actions, and the same height, at %d px",
  async (width) => {
    const heights = new Set<number | undefined>();
    for (const [updates, expected] of STATES) {
      const log = new PaymentLog();
      log.update(...updates);
      const page = await open(log, width);
      expect(await shown(page)).toEqual(expected);
      expect(await page.locator(`${CARD} .ts-pill svg`).count()).toBe(1);
      expect(await page.locator(`${CARD} .ts-amount`).textContent()).toBe("NT$1,200");
      expect(await page.locator(`${CARD} .ts-pay-order`).textContent()).toContain("Order TS4QK7M2VXA3");
      expect(await page.locator(`${CARD} [role=timer]`).count()).toBe(expected.actions.length > 0 ? 1 : 0);
      heights.add(await heightOf(page));
    }
    expect([...heights]).toHaveLength(1);
  },
);

test("S08 a payment changes live after its turn, and keeps the focus when its buttons disappear", async () => {
  const log = new PaymentLog();
  const page = await open(log);
  await page.locator("[data-action=cancel]").focus();
  await append(page, log.update(processing));
  await expect.poll(async () => (await shown(page)).status).toBe("processing");
  await expect.poll(() => focusIn(page)).toContain("ts-payment");
  await page.locator("[data-action=refresh]").focus();
  await append(page, log.update({ status: "succeeded" }));
  await expect.poll(async () => (await shown(page)).status).toBe("paid");
  await expect.poll(() => focusIn(page)).toContain("ts-payment");
  expect(await commands(page)).toEqual([]);
});

test("S08 the checkout opens in a new tab that can't reach the page", async () => {
  const page = await open(new PaymentLog());
  const link = page.locator(`${CARD} a`);
  expect(await link.getAttribute("href")).toBe("https://chat.example/api/v1/payments/checkout/t");
  expect(await link.getAttribute("target")).toBe("_blank");
  expect(await link.getAttribute("rel")).toContain("noopener");
});

test("S08 Refresh asks the server by keyboard, confirms that the status is current, and keeps the focus", async () => {
  const log = new PaymentLog();
  log.update(processing);
  const page = await open(log);
  await page.locator("[data-action=refresh]").focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => commands(page)).toEqual([["refreshPayment", "pay_1"]]);
  const announced = page.locator(`${CARD} [role=status]`);
  await expect.poll(() => announced.textContent()).toBe("The status is up to date.");
  expect(await focusIn(page)).toBe("refresh");
  await expect.poll(() => announced.textContent()).toBe("");
});

test("S08 a failed refresh shows the reason, and can be repeated", async () => {
  const page = await open(new PaymentLog());
  await page.evaluate(() => window.recorded?.refuse("OFFLINE"));
  await page.locator("[data-action=refresh]").click();
  await expect.poll(() => page.locator(`${CARD} [role=alert]`).textContent()).not.toBe("");
  await page.evaluate(() => window.recorded?.refuse(null));
  await page.locator("[data-action=refresh]").click();
  await expect.poll(() => page.locator(`${CARD} [role=alert]`).count()).toBe(0);
  expect(await commands(page)).toHaveLength(2);
});

test("S13 a pending payment is cancelled after a confirmation, by keyboard", async () => {
  const log = new PaymentLog();
  const page = await open(log);
  const height = await heightOf(page);
  await page.locator("[data-action=cancel]").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("group", { name: "Cancel this payment?" }).waitFor();
  expect(await commands(page)).toEqual([]);
  expect(await heightOf(page)).toBe(height);
  // The harmless answer has the focus, so that a double press doesn't cancel.
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Keep it");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await expect.poll(() => commands(page)).toEqual([["cancelPayment", "pay_1"]]);
  await expect.poll(() => page.locator("[data-action=confirm-cancel]").isDisabled()).toBe(true);
  await append(page, log.update({ status: "cancelled", by: "binh" }));
  await expect.poll(async () => (await shown(page)).outcome).toBe("Bình cancelled the payment.");
  await expect.poll(() => focusIn(page)).toContain("ts-payment");
});

test.each([["Escape"], ["Enter"]])("S13 %s in the confirmation keeps the payment", async (key) => {
  const page = await open(new PaymentLog());
  await page.locator("[data-action=cancel]").click();
  await page.keyboard.press(key);
  await expect.poll(() => focusIn(page)).toBe("cancel");
  expect(await commands(page)).toEqual([]);
});

test("S13 a payment can't be cancelled once its checkout is open, even during the confirmation", async () => {
  const log = new PaymentLog();
  const page = await open(log);
  await page.locator("[data-action=cancel]").click();
  await append(page, log.update(processing));
  await expect.poll(async () => (await shown(page)).actions).toEqual(["Continue to checkout", "Refresh"]);
});

test("S13 a refused cancellation shows the reason, and the payment stays", async () => {
  const page = await open(new PaymentLog());
  await page.evaluate(() => window.recorded?.refuse("INTERACTION_CLOSED"));
  await page.locator("[data-action=cancel]").click();
  await page.locator("[data-action=confirm-cancel]").click();
  await expect.poll(() => page.locator(`${CARD} [role=alert]`).textContent()).not.toBe("");
  await page.getByRole("button", { name: "Keep it" }).click();
  expect((await shown(page)).actions).toEqual(["Pay", "Refresh", "Cancel"]);
});
