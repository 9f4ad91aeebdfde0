/** `BookingTab` is one tab of the chat page: it does what a user does, and reads what the user sees. For the tests. */
import { keepArtefacts } from "@turnstream/browser/artefacts.ts";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";

export type PaymentStatus = "pending" | "processing" | "succeeded" | "failed" | "cancelled" | "expired";

const TIMEOUT_MS = 60_000;

/** One user: the tabs of a context share the sign-in. */
export async function openUser(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext({ locale: "zh-TW", viewport: { width: 1000, height: 900 } });
  context.setDefaultTimeout(TIMEOUT_MS);
  keepArtefacts(context);
  return context;
}

export class BookingTab {
  readonly page: Page;

  private constructor(page: Page) {
    this.page = page;
  }

  static async open(context: BrowserContext, url: string): Promise<BookingTab> {
    const page = await context.newPage();
    await page.goto(url);
    return new BookingTab(page);
  }

  /** Opens the same conversation in another tab. */
  async openSecondTab(): Promise<BookingTab> {
    const tab = await BookingTab.open(this.page.context(), this.page.url());
    await tab.card().waitFor();
    return tab;
  }

  /** Asks for an appointment, fills in the form, and waits for the deposit. */
  async book(name: string): Promise<void> {
    const { page } = this;
    await page.getByRole("button", { name: "我想預約洗牙" }).click();
    await page.locator(".ts-send:enabled").click();
    await page.getByLabel("姓名").fill(name);
    await page.getByLabel("手機").fill("0912 345 678");
    await page.getByLabel("看診項目").selectOption("洗牙");
    await page.locator("input[type=date]").fill("2027-03-02");
    await page.getByRole("button", { name: "送出" }).click();
    await this.sees("pending");
  }

  /** The newest payment. */
  card(): Locator {
    return this.page.locator("[data-card=payment]").last();
  }

  async sees(status: PaymentStatus): Promise<void> {
    await this.card().locator(`[data-status=${status}]`).waitFor();
  }

  async reads(text: string | RegExp): Promise<void> {
    await this.page.locator(".ts-turns").getByText(text).first().waitFor();
  }

  get checkoutLink(): Locator {
    return this.card().getByRole("link", { name: /付款/ });
  }

  /** Presses "Pay" on the card. @returns the tab with the page of the payment provider */
  async openCheckout(): Promise<Page> {
    const opened = this.page.context().waitForEvent("page");
    await this.checkoutLink.click();
    const provider = await opened;
    await provider.getByRole("heading", { name: "付款沙箱" }).waitFor();
    return provider;
  }
}
