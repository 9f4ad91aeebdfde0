/** A tab that shows a live session, and what a person does in it. */
import { until } from "@turnstream/testkit/util/until.ts";
import type { BrowserContext, Page } from "playwright-core";
import { pageUrl } from "./pages.ts";
import type { LiveView } from "./page/live.ts";
import { openAll, readScreen, readText } from "./screen.ts";

export interface TabOptions {
  /** The gateway, as this tab reaches it. */
  readonly url: string;
  readonly session: string;
  /** Who answers what is sent from here. */
  readonly agent?: string;
}

const POLL = { timeoutMs: 60_000, everyMs: 50 };

export class Tab {
  readonly page: Page;

  private constructor(page: Page) {
    this.page = page;
  }

  static async open(context: BrowserContext, { url, session, agent }: TabOptions): Promise<Tab> {
    const page = await context.newPage();
    page.setDefaultTimeout(POLL.timeoutMs);
    const query = new URLSearchParams({ url, session, ...(agent === undefined ? {} : { agent }) });
    await page.goto(`${pageUrl("live")}/?${query}`);
    return new Tab(page);
  }

  /** What its session's store says; null before there is one. */
  async view(): Promise<LiveView | null> {
    return await this.page.evaluate(() => window.turnstream?.view() ?? null);
  }

  async until(what: string, isTrue: (view: LiveView) => boolean): Promise<void> {
    let last: LiveView | null = null;
    const look = async () => {
      last = await this.view();
      return last !== null && isTrue(last);
    };
    await until(what, look, POLL).catch((error: unknown) => {
      throw new Error(`${String(error)}; it shows ${JSON.stringify(last)}`);
    });
  }

  async live(): Promise<void> {
    await this.until("the tab to be live", ({ phase }) => phase === "live");
  }

  async reload(): Promise<void> {
    await this.page.reload();
  }

  async close(): Promise<void> {
    await this.page.close();
  }

  get composer() {
    return this.page.locator(".ts-composer textarea");
  }

  /** By keyboard: into the composer, and away. */
  async send(text: string): Promise<void> {
    await this.composer.focus();
    await this.page.keyboard.insertText(text);
    await this.page.keyboard.press("Enter");
  }

  /** Waits until it can be read. */
  async reads(text: string): Promise<void> {
    let last = "";
    const look = async () => (last = await readText(this.page)).includes(text);
    await until(`"${text}" to be read`, look, POLL).catch((error: unknown) => {
      throw new Error(`${String(error)}; it reads "${last}"`);
    });
  }

  /** As everybody must see it, with everything folded open. */
  async screen(): Promise<string> {
    await openAll(this.page);
    return await readScreen(this.page);
  }
}
