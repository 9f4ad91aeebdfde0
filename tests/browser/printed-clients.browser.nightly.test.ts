/**
 * Runs the React hook that 000 prints and the browser client that 002 prints, cut out of the documents, against a real
 * gateway in Chromium. A test of a known failure turns red when the failure is gone. Without the documents, nothing runs.
 */
import { cutDocument, hasDocuments } from "@turnstream/conformance/clients/cut-document.ts";
import { defineAgent, tool } from "@turnstream/server";
import { script, scriptedModel } from "@turnstream/server/testing";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { rest } from "../../packages/server/test/stories/http-client.ts";
import { TurnHarness } from "../../packages/server/test/engine/turn-harness.ts";
import { closeBrowser, openBrowser } from "./chromium.ts";
import { pageUrl } from "./pages.ts";
import { TestEnvironment } from "./test-environment.ts";

const ANSWER = "我們的營業時間是週一至週五。";
const STEPS = [1, 2, 3];

let goOn: () => void = () => undefined;

const agent = defineAgent({
  name: "printed",
  title: false,
  tools: {
    wait: tool({
      label: ({ n }) => `Step ${n}`,
      input: z.object({ n: z.int() }),
      idempotent: true,
      run: ({ n }) => new Promise<string>((resolve) => (goOn = () => resolve(`result ${n}`))),
    }),
  },
  model: scriptedModel(({ text, step }) => {
    const n = STEPS[step];
    if (text !== "tools" || n === undefined) return [script.text(ANSWER, { chunk: 3 })];
    return [script.toolCall("wait", { n })];
  }),
});

let browser: Browser;
let environment: TestEnvironment;
let harness: TurnHarness;

beforeAll(async () => {
  if (!hasDocuments) console.log("The documents are not here: their clients are not run.");
  environment = await TestEnvironment.open();
  harness = await TurnHarness.open(environment.backend);
  await harness.worker([agent]);
  browser = await openBrowser();
});

afterAll(async () => {
  await closeBrowser(browser);
  await harness?.close();
  await environment?.close();
});

const SHOWN = [...STEPS.map((n) => `tool_use wait: result ${n}`), `text ${ANSWER}`];

async function openHook(session: string): Promise<Page> {
  const context = await environment.openContext(browser, harness.actor);
  const hook = cutDocument("000", "function useStreamProcessor() {", "Ví Dụ: Flutter");
  await context.addInitScript(`window.printedHook = ${JSON.stringify(hook)}`);
  const page = await context.newPage();
  const query = new URLSearchParams({ url: environment.url, session });
  await page.goto(`${pageUrl("live")}/documents.html?${query}`);
  await page.waitForFunction(() => window.documents?.view.isConnected === true);
  return page;
}

const readItems = (page: Page) =>
  page
    .locator("ol > li")
    .evaluateAll((items) =>
      items.map((item) => `${(item as HTMLElement).dataset["type"]} ${item.textContent}`),
    );

/** Plays a turn whose tools end when the page shows their calls. */
async function playTools(page: Page, session: string): Promise<void> {
  const ref = { tenant: harness.actor.tenant, session };
  await harness.send(ref, "tools");
  for (const n of STEPS) {
    await expect.poll(() => readItems(page)).toEqual([...SHOWN.slice(0, n - 1), "tool_use wait: …"]);
    goOn();
  }
  await harness.ended(ref, () => true);
}

describe.skipIf(!hasDocuments)("the printed React hook of 000", () => {
  test("shows a turn with tools, live", async () => {
    const { session } = await harness.session();
    const page = await openHook(session);
    await playTools(page, session);
    await expect.poll(() => readItems(page)).toEqual(SHOWN);
    await page.context().close();
  });

  // Its map of calls is filled in a state updater, which React runs after the frames of a burst.
  test("known failure: in a turn that was over when the page was opened, results are not in their calls", async () => {
    const { session } = await harness.session();
    const page = await openHook(session);
    await playTools(page, session);
    await page.context().close();
    const later = await openHook(session);
    await later.locator("ol[data-streaming=false]", { hasText: ANSWER }).waitFor();
    const items = await readItems(later);
    expect(items).toContain("tool_use wait: …");
    expect(items).not.toEqual(SHOWN);
  });
});

/** Runs the client of 002 in a page that has the given address. */
async function runReader(address: string): Promise<string> {
  const { store } = environment.backend;
  const { secret } = await store.keys.create(harness.actor.tenant, { name: "printed", scopes: [] });
  const endpoint = { url: environment.url, headers: { "x-api-key": secret } };
  const { chat_id } = await rest<{ chat_id: number }>(endpoint, "POST", "/chats", {});
  const code = cutDocument("002", "const url = 'https://api", "\nPython\n", {
    "https://api.codeer.ai": environment.url,
    "12345": String(chat_id),
    YOUR_API_KEY: secret,
    "your-agent-id": agent.name,
  });
  const context = await browser.newContext({ bypassCSP: true });
  const page = await context.newPage();
  await page.goto(address);
  await page.evaluate(`document.body.innerHTML = "<p id=output></p>"`);
  await page.evaluate(`(async () => { ${code} })()`);
  const output = await page.locator("#output").textContent();
  await context.close();
  return output ?? "";
}

describe.skipIf(!hasDocuments)("the printed browser client of 002", () => {
  test("receives an answer in a page of the gateway's origin", async () => {
    expect(await runReader(`${environment.url}/livez`)).toBe(ANSWER);
  });

  // The gateway doesn't allow the header of an API key from another origin.
  test("known failure: is refused in a page of another origin", async () => {
    await expect(runReader(pageUrl("live"))).rejects.toThrow("Failed to fetch");
  });
});
