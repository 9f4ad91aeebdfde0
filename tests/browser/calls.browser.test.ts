/** Tests how a thread shows a tool call while it runs and afterwards, in a group and outside of groups. */
import type { Story } from "@turnstream/conformance/scenarios/story.ts";
import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { openRecorded, start, withRecordedPages } from "./recorded-page.ts";
import { indexAfter, playEvents, startedStory, withTool } from "./recorded-story.ts";

withRecordedPages();

/** Opens a page with a call that runs, and waits until it is expanded. */
async function openRunning(): Promise<{ page: Page; log: Story; at: number; head: Locator }> {
  const page = await openRecorded();
  const log = withTool();
  const at = indexAfter(log, "tool_result.start");
  await start(page, log.events.slice(0, at));
  const head = page.getByRole("button", { name: /Reading the price/ });
  await expect.poll(() => head.getAttribute("aria-expanded")).toBe("true");
  return { page, log, at, head };
}

describe("a call", () => {
  test("outside of groups is expanded while it runs, and collapses 300 ms after its end", async () => {
    const { page, log, at, head } = await openRunning();
    await expect.poll(() => page.locator(".ts-tool .ts-dot").getAttribute("data-dot")).toBe("pending");
    await expect.poll(() => page.locator(".ts-panel").innerText()).toContain('{ "symbol": "VNM" }');
    await playEvents(page, log, at);
    await expect.poll(() => head.getAttribute("aria-expanded")).toBe("false");
    expect(await page.locator(".ts-panel").count()).toBe(0);
    await expect.poll(() => head.innerText()).toContain("82,000 VND");
  });

  test("U03 shows request and response, and stays as the user left it", async () => {
    const { page, log, at, head } = await openRunning();
    await page.clock.install();
    await head.click();
    await expect.poll(() => page.locator(".ts-panel").count()).toBe(0);
    await head.click();
    await playEvents(page, log, at);
    await expect
      .poll(() => page.locator(".ts-panel").allInnerTexts())
      .toEqual([expect.stringContaining('{ "symbol": "VNM" }'), expect.stringContaining("82,000 VND")]);
    // The line doesn't repeat what the panel shows.
    expect(await head.innerText()).not.toContain("82,000");
    await page.clock.runFor(10_000);
    expect(await head.getAttribute("aria-expanded")).toBe("true");
  });

  test("in a group is one line with the newest progress, then with a preview of its result", async () => {
    const page = await openRecorded();
    const log = startedStory().openGroup();
    for (const label of ["Reading the index", "Reading the price"]) {
      const call = log.call("get_price", ['{"symbol":"VNM"}'], { label });
      const on = log.startResult(call, "get_price", { label });
      const part = { part: 0, media: "text", done: false } as const;
      for (const data of ["10 %\n", "60 %\n"]) log.add({ type: "tool_result.delta", ...on, ...part, data });
      log.endResult(on, "82,000 VND");
    }
    const ended = indexAfter(log, "tool_result.delta", 4);
    await start(page, log.events.slice(0, ended));
    const heads = page.locator(".ts-tool-head");
    const lines = async () => (await heads.allInnerTexts()).map((text) => text.split("\n").slice(1));
    await expect.poll(lines).toEqual([
      ["Reading the index", "82,000 VND"],
      ["Reading the price", "60 %"],
    ]);
    expect(await page.locator(".ts-panel").count()).toBe(0);
    await playEvents(page, log, ended);
    await expect.poll(lines).toEqual([
      ["Reading the index", "82,000 VND"],
      ["Reading the price", "82,000 VND"],
    ]);
    await heads.nth(0).click();
    await expect.poll(() => page.locator(".ts-panel").count()).toBe(2);
  });

  test("of a sub-agent never shows its task without a click, also not between its end and the collapse", async () => {
    const page = await openRecorded();
    const log = startedStory().openGroup();
    const label = "Asking the analyst";
    const call = log.call("analyst", ['{"task":"Judge VNM."}'], { label });
    const on = log.startResult(call, "analyst", { label });
    const run = log.startRun(call, "analyst");
    log.text(["It is cheap."], { part: true, run }).endRun(run);
    const working = log.events.length;
    log.endResult(on, "It is cheap.");
    await start(page, log.events.slice(0, working));
    const head = page.getByRole("button", { name: /Asking the analyst/ }).last();
    await expect.poll(() => head.getAttribute("aria-expanded")).toBe("true");
    await page.evaluate(() => {
      new MutationObserver(() => {
        if (document.body.innerText.includes("Judge VNM.")) document.title = "task seen";
      }).observe(document.body, { subtree: true, childList: true });
    });
    await playEvents(page, log, working);
    await expect.poll(() => head.getAttribute("aria-expanded")).toBe("false");
    expect(await page.title()).not.toBe("task seen");
    await head.click();
    await expect.poll(() => page.title()).toBe("task seen");
  });

  test("U03 is collapsed in history", async () => {
    const page = await openRecorded();
    await start(page, withTool().events);
    const head = page.getByRole("button", { name: /Reading the price/ });
    expect(await head.getAttribute("aria-expanded")).toBe("false");
    await head.click();
    await expect.poll(() => page.locator(".ts-panel").count()).toBe(2);
  });

  test("U02 U01 shows its status as a dot, and its result once", async () => {
    const page = await openRecorded();
    const log = startedStory();
    const ends = [
      ["success", "done"],
      ["error", "error"],
      ["cancelled", "error"],
    ] as const;
    for (const [status] of ends) {
      const call = log.call("look_up", ["{}"], { label: `Ends with ${status}` });
      const on = log.startResult(call, "look_up", { label: `Ends with ${status}` });
      log.endResult(on, `result ${status}`, { status });
    }
    log.call("look_up", ["{}"], { label: "Never ends" });
    log.end("user_stopped");
    await start(page, log.events);
    const dots = page.locator(".ts-tool .ts-dot");
    await expect
      .poll(() => dots.evaluateAll((all) => all.map((dot) => (dot as HTMLElement).dataset["dot"])))
      .toEqual([...ends.map(([, dot]) => dot), "stopped"]);
    const colours = await dots.evaluateAll((all) => all.map((dot) => getComputedStyle(dot).backgroundColor));
    expect(new Set(colours).size).toBe(3);
    const moving = await dots.evaluateAll((all) => all.map((dot) => getComputedStyle(dot).animationName));
    expect(new Set(moving)).toEqual(new Set(["none"]));
    expect((await page.locator(".ts-thread").innerText()).split("result success").length).toBe(2);
  });
});
