/** `Tab` shows a live session and does what a user does in it. */
import { until } from "@turnstream/testkit/util/until.ts";
import type { BrowserContext, Page } from "playwright-core";
import { pageUrl } from "./pages.ts";
import type { LiveView } from "./page/live.ts";
import { openAll, readScreen, readText } from "./screen.ts";

export interface TabOptions {
  /** The URL of the gateway for this tab. */
  readonly url: string;
  readonly session: string;
  /** The agent that answers messages from this tab. */
  readonly agent?: string;
  /** The display mode of messages from this tab. */
  readonly mode?: string;
  /** The file of the page. @default the page with React */
  readonly page?: string;
  /** Other parameters of the page. */
  readonly more?: Readonly<Record<string, string>>;
  /** The language of the page. @default English */
  readonly locale?: string;
}

const POLL = { timeoutMs: 60_000, everyMs: 50 };

export class Tab {
  readonly page: Page;

  private constructor(page: Page) {
    this.page = page;
  }

  static async open(
    context: BrowserContext,
    { url, session, more, page: file = "", ...optional }: TabOptions,
  ): Promise<Tab> {
    const page = await context.newPage();
    page.setDefaultTimeout(POLL.timeoutMs);
    const query = new URLSearchParams({ url, session, ...optional, ...more });
    await page.goto(`${pageUrl("live")}/${file}?${query}`);
    return new Tab(page);
  }

  /** Returns the state of its session store, or null before there is one. */
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
      throw new Error(`${String(error)}; the tab shows ${JSON.stringify(last)}`);
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

  /** Types into the composer and presses Enter. */
  async send(text: string): Promise<void> {
    await this.composer.focus();
    await this.page.keyboard.insertText(text);
    await this.page.keyboard.press("Enter");
  }

  /** Waits until the text is visible. */
  async reads(text: string): Promise<void> {
    let last = "";
    const look = async () => (last = await readText(this.page)).includes(text);
    await until(`"${text}" to be visible`, look, POLL).catch((error: unknown) => {
      throw new Error(`${String(error)}; the tab shows "${last}"`);
    });
  }

  /** Returns what every user must see, with everything expanded. */
  async screen(): Promise<string> {
    // A page renders its state a frame after it has changed. A hidden page has no frames.
    await this.page.evaluate(
      () =>
        new Promise<void>((resolve) => {
          requestAnimationFrame(() => requestAnimationFrame(() => resolve()));
          setTimeout(resolve, 200);
        }),
    );
    await openAll(this.page);
    return await readScreen(this.page);
  }
}
