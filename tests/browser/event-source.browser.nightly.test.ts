/** Tests in Chromium that a plain `EventSource` follows a session with tickets, on this origin and on another one. */
import type { SessionRef } from "@turnstream/server";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { BrowserSession } from "./browser-session.ts";
import { pageUrl } from "./pages.ts";

let browserSession: BrowserSession;

beforeAll(async () => {
  browserSession = await BrowserSession.open({ hasWorker: false });
});

afterEach(async () => {
  for (const context of browserSession.browser.contexts()) await context.close();
});

afterAll(async () => {
  await browserSession?.close();
});

/** Everything that the page's `EventSource` reports. */
interface Reported {
  readonly titles: readonly string[];
  readonly subscribed: readonly { readonly resumed: boolean }[];
  readonly cursor: string;
  readonly readyState: number;
}

async function openPage(address: string): Promise<Page> {
  const page = await (await browserSession.openContext()).newPage();
  await page.goto(address);
  return page;
}

/** Requests a ticket in the page and opens an `EventSource` with it. */
async function follow(page: Page, ref: SessionRef, after = ""): Promise<void> {
  const api = `${browserSession.environment.url}/api/v1`;
  await page.evaluate(
    async ({ base, session, cursor }) => {
      const shared = window as unknown as { turnstreamToken: string; reported: unknown };
      const authorization = `Bearer ${shared.turnstreamToken}`;
      const response = await fetch(`${base}/tickets`, { method: "POST", headers: { authorization } });
      const { ticket } = (await response.json()) as { ticket: string };
      const query = new URLSearchParams({ dialect: "native", last_event_id: cursor, ticket });
      const source = new EventSource(`${base}/sessions/${session}/events?${query}`);
      const reported = { titles: [] as string[], subscribed: [] as unknown[], cursor, source };
      shared.reported = reported;
      source.addEventListener("subscribed", ({ data }) => reported.subscribed.push(JSON.parse(data)));
      source.addEventListener("session.update", ({ data, lastEventId }) => {
        reported.titles.push((JSON.parse(data) as { title: string }).title);
        reported.cursor = lastEventId;
      });
    },
    { base: api, session: ref.session, cursor: after },
  );
}

async function read(page: Page): Promise<Reported> {
  return await page.evaluate(() => {
    const { reported } = window as unknown as { reported: Reported & { source: EventSource } };
    const { titles, subscribed, cursor, source } = reported;
    return { titles, subscribed, cursor, readyState: source.readyState };
  });
}

/** Renames the session from the page, which writes an event. */
async function rename(page: Page, ref: SessionRef, title: string): Promise<void> {
  const address = `${browserSession.environment.url}/api/v1/sessions/${ref.session}`;
  const status = await page.evaluate(
    async ({ url, body }) => {
      const { turnstreamToken } = window as unknown as { turnstreamToken: string };
      const headers = { authorization: `Bearer ${turnstreamToken}`, "content-type": "application/json" };
      return (await fetch(url, { method: "PATCH", headers, body })).status;
    },
    { url: address, body: JSON.stringify({ title }) },
  );
  expect(status).toBe(200);
}

test.each([
  ["of the gateway's own origin, which sends no origin", () => `${browserSession.environment.url}/healthz`],
  ["of an allowed origin", () => pageUrl("live")],
])("a page %s follows, reconnects with a new ticket, and misses nothing", async (_, address) => {
  const ref = await browserSession.createSession();
  const page = await openPage(address());
  await follow(page, ref);
  await expect.poll(async () => (await read(page)).subscribed.length).toBe(1);
  await rename(page, ref, "First");
  await expect.poll(async () => (await read(page)).titles).toEqual(["First"]);

  // The browser repeats the URL with the used ticket, and the refusal closes the EventSource for good.
  browserSession.environment.proxy.cutConnections();
  await expect.poll(async () => (await read(page)).readyState, { timeout: 30_000 }).toBe(2);
  await rename(page, ref, "Second");
  const { cursor, titles } = await read(page);
  expect(titles).toEqual(["First"]);

  await follow(page, ref, cursor);
  await expect.poll(async () => (await read(page)).titles).toEqual(["Second"]);
  expect((await read(page)).subscribed).toMatchObject([{ resumed: true, reason: "cursor" }]);
});
