/**
 * Tests the example as a user runs it: started by its command, with every suggestion used once. It approves, answers,
 * stops, retries and reloads, and kills processes. In the end nothing must be left.
 */
import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { closeBrowser, openBrowser } from "@turnstream/browser/chromium.ts";
import { keepArtefacts, readConsole } from "@turnstream/browser/artefacts.ts";
import { type Started, startExample } from "@turnstream/browser/start-example.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { isAlive, listDescendants } from "@turnstream/testkit/processes/process-tree.ts";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findForeignTexts, listPlantedTexts, readTexts } from "./foreign-text.ts";
import type { Locale } from "./shared/locales.ts";
import { SUGGESTIONS, type Topic, TOPICS } from "./shared/suggestions.ts";
import { readFaults, watchThread } from "./watch-thread.ts";

const TIMEOUT_MS = 60_000;
const SPEED = "5";

let example: Started;
let browser: Browser;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  [example, browser] = await Promise.all([
    startExample("market-assistant", ["--port", "0", "--speed", SPEED]),
    openBrowser(),
  ]);
  context = await browser.newContext({ locale: "vi-VN", viewport: { width: 1280, height: 900 } });
  page = await open();
}, 180_000);

afterAll(async () => {
  await closeBrowser(browser);
  await example?.interrupt();
});

beforeEach(() => keepArtefacts(context));

async function open(): Promise<Page> {
  const opened = await context.newPage();
  opened.setDefaultTimeout(TIMEOUT_MS);
  await opened.goto(example.url);
  return opened;
}

const thread = (on: Page) => on.locator(".ts-turns");
/** Waits until the text is visible. */
async function reads(text: string | RegExp, on: Page = page): Promise<boolean> {
  await thread(on).getByText(text).first().waitFor();
  return true;
}
const press = (name: string | RegExp, on: Page = page) =>
  on.locator(".ts-chat-main").getByRole("button", { name }).first().click();

/** Uses a suggestion in a new session. */
async function ask(topic: Topic, on: Page = page, locale: Locale = "vi"): Promise<void> {
  await on.locator(".ts-session-new").click();
  await on.getByRole("button", { name: SUGGESTIONS[locale][topic], exact: true }).click();
  await on.locator(".ts-send:enabled").click();
  // The first message creates the session.
  await on.waitForURL(/[?&]session=/);
}

async function untilDone(on: Page = page): Promise<void> {
  await on.locator(".ts-turn[data-running]").waitFor({ state: "detached" });
}

async function textsOf(on: Page): Promise<string[]> {
  return await on.locator(".ts-text").allInnerTexts();
}

/** Requests a path under another name, as a page does whose name was pointed at this machine. */
async function statusUnder(host: string, path: string, method: string): Promise<number | undefined> {
  const request = httpRequest(new URL(path, example.url), {
    method,
    headers: { host, origin: `http://${host}` },
  });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

test("answers only under its own names, so that a page with a rebound name can't use it", async () => {
  const { host, port } = new URL(example.url);
  for (const [path, method, status] of [
    ["/", "GET", 421],
    ["/api/v1/sign-in", "POST", 401],
    ["/api/v1/sessions", "GET", 401],
  ] as const)
    for (const name of [`evil.example:${port}`, "127.0.0.1.evil.example", `localhost.evil.example:${port}`])
      expect(await statusUnder(name, path, method), `${name} ${path}`).toBe(status);
  expect(await statusUnder(host, "/", "GET")).toBe(200);
  expect(await statusUnder(`localhost:${port}`, "/", "GET")).toBe(200);
});

describe("each suggestion (U07)", () => {
  test("the market: groups of steps, a table, citations", async () => {
    await ask("market");
    await reads("Thị trường hôm nay tích cực");
    await untilDone();
    await reads("Tìm cổ phiếu biến động mạnh");
    await expect.poll(() => thread(page).getByRole("table").count()).toBeGreaterThan(0);
    await expect.poll(() => thread(page).locator(".ts-cite").count()).toBe(3);
  });

  test("an order: a step without permission fails, and the order is placed after approval", async () => {
    await ask("buy");
    await reads("không có quyền");
    await press("Xác nhận");
    expect(await reads(/Xong rồi\. Lệnh #\d{4}: 100 VNM/)).toBe(true);
  });

  test("a question: the agent uses the answer", async () => {
    await ask("portfolio");
    await page.getByLabel("Ngắn hạn").check();
    await press("Trả lời");
    expect(await reads(/lãi 2\.480\.000/)).toBe(true);
    await untilDone();
  });

  test("a chart", async () => {
    await ask("chart");
    await reads("VNM, 7 phiên gần nhất");
    await thread(page).locator("canvas").waitFor();
    expect(await reads(/đi từ 80\.400/)).toBe(true);
  });

  test("the analyst: a sub-agent whose sources are cited", async () => {
    await ask("analyst");
    await reads("Theo chuyên gia");
    await untilDone();
    await reads("Hỏi chuyên gia phân tích");
    await expect.poll(() => thread(page).locator(".ts-cite").count()).toBeGreaterThanOrEqual(2);
  });

  test("a long tool call that is stopped", async () => {
    await ask("scan");
    await reads(/Đã quét \d/);
    await press("Dừng");
    expect(await reads("Bạn đã dừng")).toBe(true);
    await untilDone();
  });

  test("an error that is retried", async () => {
    await ask("forecast");
    await reads("Mô hình đang quá tải");
    await press("Thử lại");
    expect(await reads("1.275–1.300 điểm")).toBe(true);
  });

  test("a form that is submitted", async () => {
    await ask("account");
    await page.getByLabel("Họ và tên").fill("An Nguyễn");
    await page.getByLabel("E-mail").fill("an@example.org");
    await page.locator("input[type=date]").fill("1990-02-28");
    await page.getByLabel("Tôi đồng ý với điều khoản").check();
    await thread(page).getByRole("button", { name: "Gửi" }).click();
    expect(await reads("Cảm ơn An Nguyễn")).toBe(true);
  });

  test("a file that is summarized", async () => {
    await ask("file");
    await reads("sao-ke-thang-3.csv");
    expect(await reads("8 giao dịch")).toBe(true);
  });
});

test("sessions have titles, and can be renamed and erased", async () => {
  const list = page.getByRole("navigation");
  const row = list.getByRole("link", { name: "Vẽ biểu đồ VNM 7 phiên gần nhất.", exact: true });
  await row.click();
  expect(await reads(/đi từ 80\.400/)).toBe(true);
  await list.getByRole("button", { name: "Đổi tên “Vẽ biểu đồ" }).click();
  await page.getByLabel("Tên mới").fill("Biểu đồ của tôi");
  await page.keyboard.press("Enter");
  await list.getByRole("link", { name: "Biểu đồ của tôi", exact: true }).waitFor();
  await list.getByRole("button", { name: "Xoá “Biểu đồ của tôi”" }).click();
  await list.getByRole("button", { name: "Xoá", exact: true }).click();
  await list.getByRole("link", { name: "Biểu đồ của tôi", exact: true }).waitFor({ state: "detached" });
});

test("on a phone an empty conversation is scrolled to its top", async () => {
  const phone = await browser.newContext({ locale: "vi-VN", viewport: { width: 375, height: 500 } });
  const scrolledPage = await phone.newPage();
  await scrolledPage.goto(example.url);
  await scrolledPage.locator(".ts-suggestion").last().waitFor({ timeout: TIMEOUT_MS });
  const { top, scrollable } = await scrolledPage.locator(".ts-scroll").evaluate(async (scroller) => {
    // Following the end happens when the size is known, at most one frame later.
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    return { top: scroller.scrollTop, scrollable: scroller.scrollHeight - scroller.clientHeight };
  });
  expect(scrollable).toBeGreaterThan(0);
  expect(top).toBe(0);
  await phone.close();
});

/** Brings a turn to its end as a user does, whatever the language. A form stays open. */
async function complete(topic: Topic, on: Page): Promise<void> {
  if (topic === "buy") await on.locator("[data-action=approve]").click();
  if (topic === "portfolio") {
    await on.locator("[data-card=question] input").first().check();
    await on.locator("[data-card=question] .ts-primary").click();
  }
  if (topic === "account") await on.locator("[data-card=form]").waitFor();
  else {
    // The thread loads after the page.
    await on.locator(".ts-turn").first().waitFor();
    await untilDone(on);
  }
  if (topic === "forecast") await on.locator(".ts-error").waitFor();
}

/** Collapsed content is not in the document. */
async function expandAll(on: Page): Promise<void> {
  const collapsed = thread(on).locator(".ts-toggle[aria-expanded=false]");
  while ((await collapsed.count()) > 0) await collapsed.first().click();
}

const LOCALES = ["en", "vi", "zh-TW"] as const;

async function visit(locale: Locale): Promise<[BrowserContext, Page]> {
  const visitor = await browser.newContext({ locale, viewport: { width: 1280, height: 900 } });
  keepArtefacts(visitor);
  const tab = await visitor.newPage();
  tab.setDefaultTimeout(TIMEOUT_MS);
  await tab.goto(example.url);
  return [visitor, tab];
}

describe.each(LOCALES)("without a click, in %s", (locale) => {
  test("no suggestion shows JSON or a label twice, from its start to its end", async () => {
    const [visitor, tab] = await visit(locale);
    await watchThread(tab);
    const faults: string[] = [];
    for (const topic of TOPICS) {
      await ask(topic, tab, locale);
      if (topic === "scan") {
        // The progress is beside the label.
        await tab.locator(".ts-note").waitFor();
        await tab.locator(".ts-stop").click();
      }
      await complete(topic, tab);
      if (topic === "forecast") {
        await tab.locator(".ts-error button").click();
        await thread(tab).locator(".ts-turn").nth(1).locator(".ts-text").waitFor();
        await untilDone(tab);
        // The retry has an answer, so the error is not shown any more.
        expect(await tab.locator(".ts-error").count()).toBe(0);
      }
      for (const fault of await readFaults(tab)) faults.push(`${topic}: ${fault}`);
    }
    expect(faults).toEqual([]);
    // The check finds what it looks for.
    await ask("buy", tab, locale);
    await complete("buy", tab);
    await expandAll(tab);
    const found = await readFaults(tab);
    expect(found.some((fault) => fault.startsWith("JSON"))).toBe(true);
    await tab.evaluate(() => {
      const label = document.querySelector(".ts-tool-label");
      label?.after(label.cloneNode(true));
    });
    await expect
      .poll(async () => (await readFaults(tab)).some((fault) => fault.startsWith("twice")))
      .toBe(true);
    await visitor.close();
  }, 240_000);
});

describe.each(LOCALES)("U11 in %s", (locale) => {
  test("no text of the page, the components, the agent or the worker is in another language", async () => {
    const [visitor, tab] = await visit(locale);
    // All turns run at the same time, which is faster.
    const sessions: [Topic, string][] = [];
    for (const topic of TOPICS) {
      await ask(topic, tab, locale);
      sessions.push([topic, tab.url()]);
      // The stopped state has texts of its own.
      if (topic === "scan") await tab.locator(".ts-stop").click();
    }
    const texts = new Set<string>();
    for (const [topic, url] of sessions) {
      await tab.goto(url);
      await complete(topic, tab);
      await expandAll(tab);
      for (const text of await readTexts(tab)) texts.add(text);
    }
    expect(texts.size).toBeGreaterThan(100);
    expect(findForeignTexts(locale, [...texts])).toEqual([]);
    // The check finds what it looks for.
    const planted = listPlantedTexts(locale);
    expect(findForeignTexts(locale, planted)).toEqual(planted);
    await visitor.close();
  });
});

test("U11 a session continues in the language that the user picks", async () => {
  await ask("chart");
  await reads(/đi từ 80\.400/);
  await untilDone();
  await page.getByLabel("Ngôn ngữ").selectOption("en");
  const composer = page.getByPlaceholder("Message Market assistant…");
  await composer.fill("Scan all");
  await composer.press("Enter");
  await reads(/Scanned \d/);
  await press("Stop");
  expect(await reads("You stopped this. Send a new message to continue.")).toBe(true);
  await untilDone();
  await page.getByLabel("Language").selectOption("vi");
});

test("U11 U12 a visitor reads a shared conversation in Traditional Chinese and continues it", async () => {
  await ask("chart");
  await reads(/đi từ 80\.400/);
  await untilDone();
  await page.getByRole("button", { name: "Chia sẻ", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Tạo liên kết" }).click();
  const link = await dialog.getByRole("textbox").first().inputValue();
  const visitor = await browser.newContext({ locale: "zh-TW", viewport: { width: 1280, height: 900 } });
  keepArtefacts(visitor);
  const shared = await visitor.newPage();
  shared.setDefaultTimeout(TIMEOUT_MS);
  await shared.goto(link);
  expect(await reads(/đi từ 80\.400/, shared)).toBe(true);
  expect(await shared.locator("textarea").count()).toBe(0);
  await shared.locator("[data-action=continue]").click();
  const composer = shared.getByPlaceholder("傳訊息給市場助理…");
  await composer.fill("VNM");
  await composer.press("Enter");
  expect(await reads("3 月 25 日的股價", shared)).toBe(true);
  await untilDone(shared);
  // The conversation of the owner is unchanged.
  expect(await thread(page).locator(".ts-user").count()).toBe(1);
  await dialog.getByRole("button", { name: "Thu hồi" }).click();
  await dialog.locator("[data-action=revoke-confirm]").click();
  // The link leaves the list when the server has revoked it.
  await dialog.locator("[data-action=revoke-confirm]").waitFor({ state: "detached" });
  await shared.goto(link);
  await shared.getByRole("alert").waitFor();
  await page.keyboard.press("Escape");
  await visitor.close();
});

test("an answer continues after a reload, and matches a tab that was not reloaded (H04)", async () => {
  await ask("buy");
  const other = await context.newPage();
  other.setDefaultTimeout(TIMEOUT_MS);
  await other.goto(page.url());
  await reads("Để mình kiểm tra giá");
  await page.reload();
  await thread(page).getByRole("button", { name: "Xác nhận", exact: true }).waitFor();
  // A decision in one tab applies to both.
  await press("Xác nhận", other);
  await Promise.all([page, other].map((one) => reads("Xong rồi.", one)));
  await Promise.all([untilDone(page), untilDone(other)]);
  await expect
    .poll(async () => [await textsOf(page), await textsOf(other)])
    .toSatisfy(([one = [], two]: string[][]) => one.length > 0 && isDeepStrictEqual(one, two));
  await other.close();
});

test("an answer continues after worker and server are killed", async () => {
  await ask("market");
  await reads("Để mình xem chỉ số");
  process.kill(example.pidOf("Worker"), "SIGKILL");
  await until(
    "the worker to restart",
    () => example.lines.some((line) => line.includes("Worker restarted")),
    {
      timeoutMs: TIMEOUT_MS,
    },
  );
  process.kill(example.pidOf("Server"), "SIGKILL");
  await reads("Thị trường hôm nay tích cực");
  await untilDone();
  await expect.poll(() => thread(page).locator(".ts-user").count()).toBe(1);
});

test("no script failed, and Ctrl-C leaves nothing behind", async () => {
  const thrown = readConsole(page).filter((line) => line.startsWith("thrown"));
  expect(thrown).toEqual([]);
  const pids = listDescendants(example.pid);
  await example.interrupt();
  // Its output may arrive after it has exited.
  await expect.poll(() => example.lines).toContain("Stopping…");
  await until("its processes to exit", () => !pids.some(isAlive), { timeoutMs: TIMEOUT_MS });
});
