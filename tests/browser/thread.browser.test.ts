/**
 * Tests what a user does in a thread and what it does by itself: expanding, following, loading older turns and writing.
 */
import type { ClientError } from "@turnstream/client";
import { Story } from "@turnstream/conformance/scenarios/story.ts";
import { foldAll } from "@turnstream/protocol";
import { turnSnapshot } from "@turnstream/protocol/writer";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { openRecorded, settled, start, withRecordedPages } from "./recorded-page.ts";
import { indexAfter, playEvents, startedStory, withTool } from "./recorded-story.ts";

withRecordedPages();

test("a thought is expanded while it streams and then collapses; a choice of the user stays", async () => {
  const page = await openRecorded();
  const log = startedStory()
    .think(["First ", "one."])
    .text(["So."], { part: true })
    .think(["Second ", "one."]);
  log.text(["Done."], { final: true }).end();
  const first = indexAfter(log, "thinking.delta");
  await start(page, log.events.slice(0, first));
  const heads = page.locator(".ts-thinking-head");
  const open = async () => await heads.evaluateAll((all) => all.map((head) => head.ariaExpanded));
  await expect.poll(open).toEqual(["true"]);
  await playEvents(page, log, first, indexAfter(log, "thinking.delta", 3));
  await expect.poll(open).toEqual(["false", "true"]);
  await heads.nth(0).click();
  await heads.nth(1).click();
  await playEvents(page, log, indexAfter(log, "thinking.delta", 3));
  await expect.poll(open).toEqual(["true", "false"]);
});

test("U06 the brand is above the first block of a turn, once, and never without a block", async () => {
  const page = await openRecorded();
  const log = withTool();
  const at = indexAfter(log, "run.start");
  await start(page, log.events.slice(0, at));
  expect(await page.locator(".ts-brand").count()).toBe(0);
  await playEvents(page, log, at);
  await expect.poll(() => page.locator(".ts-brand").allInnerTexts()).toEqual(["Market"]);
  const order = await page
    .locator(".ts-turn > *")
    .evaluateAll((all) => all.map(({ className }) => className));
  expect(order.slice(0, 3)).toEqual(["ts-user", "ts-brand", "ts-step"]);
});

/** A thread that is taller than the page, with an answer that is still streaming. */
function tall(): { readonly log: Story; readonly at: number } {
  const log = new Story({ check: false }).session("ses_tall", 4);
  for (let n = 0; n < 12; n++)
    log
      .begin(`Question ${n}`)
      .text([`${"A line of the answer. ".repeat(30)}${n}`], { final: true })
      .end();
  log
    .begin("And now?")
    .text(["More lines. ".repeat(40), "Still more. ".repeat(200)], { final: true })
    .end();
  return { log, at: indexAfter(log, "text.delta", 13) };
}

const scroller = (page: Page) => page.locator(".ts-scroll");
const topOf = async (page: Page) => await scroller(page).evaluate(({ scrollTop }) => scrollTop);
const leftBelow = async (page: Page) =>
  await scroller(page).evaluate((box) => Math.round(box.scrollHeight - box.scrollTop - box.clientHeight));

/** Scrolls up with the wheel, and waits for `scrollend`, which takes some frames. */
async function wheelUp(page: Page, by: number): Promise<number> {
  await expect.poll(() => leftBelow(page)).toBeLessThanOrEqual(1);
  const moved = await scroller(page).evaluateHandle((box, least) => {
    const from = box.scrollTop;
    const isOver = new Promise<void>((resolve) => {
      // A `scrollend` of an earlier movement doesn't count.
      const look = (): void => void (from - box.scrollTop >= least && resolve());
      box.addEventListener("scrollend", look);
    });
    return { isOver };
  }, by / 2);
  await scroller(page).hover();
  await page.mouse.wheel(0, -by);
  await moved.evaluate(async ({ isOver }) => await isOver);
  // A busy browser fires the event before the last frames of the movement.
  let [top, before] = [await topOf(page), Number.NaN];
  while (top !== before) {
    before = top;
    await page.evaluate(async () => {
      for (let frames = 0; frames < 10; frames++) await new Promise(requestAnimationFrame);
    });
    top = await topOf(page);
  }
  return top;
}

describe("following", () => {
  test("opens at the end and stays there while the answer grows", async () => {
    const page = await openRecorded();
    const { log, at } = tall();
    await start(page, log.events.slice(0, at));
    await settled(page);
    await expect.poll(() => leftBelow(page)).toBeLessThanOrEqual(1);
    const before = await topOf(page);
    await playEvents(page, log, at);
    await expect.poll(() => leftBelow(page)).toBeLessThanOrEqual(1);
    await expect.poll(() => topOf(page)).toBeGreaterThan(before);
  });

  test("stops on a small scroll up, and starts again with the button", async () => {
    const page = await openRecorded();
    const { log, at } = tall();
    await start(page, log.events.slice(0, at));
    await settled(page);
    const before = await wheelUp(page, 40);
    const button = page.getByRole("button", { name: "To the newest message" });
    await button.waitFor();
    await playEvents(page, log, at);
    expect(await topOf(page)).toBe(before);
    await button.click();
    await expect.poll(() => leftBelow(page)).toBeLessThanOrEqual(1);
    await expect.poll(() => button.count()).toBe(0);
  });

  test("starts again with a message sent here, not with one from another tab or a discarded one", async () => {
    const page = await openRecorded();
    await start(page, tall().log.events);
    await settled(page);
    const button = page.getByRole("button", { name: "To the newest message" });
    const moveUp = async (): Promise<number> => {
      const top = await wheelUp(page, 400);
      await button.waitFor();
      return top;
    };
    const show = async (...written: readonly (readonly [id: string, isOwn: boolean])[]): Promise<void> => {
      await page.evaluate((list) => {
        const message = { files: [], at: 0, status: "waiting", error: null } as const;
        const outbox = list.map(([id, isOwn]) => ({ ...message, id, isOwn, text: `Message ${id}` }));
        window.recorded?.show({ outbox });
      }, written);
      await expect.poll(() => page.getByText(/^Message \w+$/).count()).toBe(written.length);
    };
    const before = await moveUp();
    await show(["other", false]);
    expect(await topOf(page)).toBe(before);
    await show(["other", false], ["one", true]);
    await expect.poll(() => leftBelow(page)).toBeLessThanOrEqual(1);
    await show(["other", false], ["one", true], ["two", true]);
    const read = await moveUp();
    await show(["other", false], ["one", true]);
    expect(await topOf(page)).toBe(read);
    await expect.poll(() => button.count()).toBe(1);
  });

  test("keeps the position of a part that the user expands", async () => {
    const page = await openRecorded();
    const { log } = tall();
    const call = log.begin("Look it up").call("look_up", ["{}"], { label: "Looking it up" });
    log.endResult(log.startResult(call, "look_up", { label: "Looking it up" }), "a line\n".repeat(60));
    log.text(["Found."], { final: true }).end();
    await start(page, log.events);
    await settled(page);
    await expect.poll(() => leftBelow(page)).toBeLessThanOrEqual(1);
    const head = page.getByRole("button", { name: /Looking it up/ });
    const before = (await head.boundingBox())?.y;
    await head.click();
    await page.locator(".ts-panel").waitFor();
    expect((await head.boundingBox())?.y).toBe(before);
  });
});

test("loading older turns keeps the scroll position", async () => {
  const page = await openRecorded();
  const { log } = tall();
  await start(page, log.events);
  await settled(page);
  const all = foldAll(log.events);
  const text = (from: number) => JSON.stringify(all.turns.toArray().slice(from).map(turnSnapshot));
  await page.evaluate((turns) => window.recorded?.showTurns(turns, true), text(4));
  await scroller(page).evaluate((box) => box.scrollTo(0, 0));
  const load = page.getByRole("button", { name: "Show earlier messages" });
  await load.click();
  await expect.poll(() => page.evaluate(() => window.recorded?.commands)).toContainEqual(["loadMore"]);
  const read = page.locator(".ts-user", { hasText: "Question 4" });
  const before = (await read.boundingBox())?.y ?? 0;
  await page.evaluate((turns) => window.recorded?.showTurns(turns, false), text(0));
  await page.locator(".ts-user", { hasText: "Question 0" }).waitFor({ state: "attached" });
  const now = (await read.boundingBox())?.y ?? 0;
  // The button above it disappears, with its height.
  expect(Math.abs(now - before)).toBeLessThan(80);
});

describe("the composer", () => {
  test("sends with Enter, breaks the line with Shift+Enter, and waits for input methods", async () => {
    const page = await openRecorded();
    await start(page, []);
    const field = page.getByRole("textbox", { name: "Message" });
    await field.fill("One");
    await field.press("Shift+Enter");
    await field.pressSequentially("two");
    await expect.poll(() => field.inputValue()).toBe("One\ntwo");
    await field.evaluate((element) => {
      const key = { key: "Enter", bubbles: true, cancelable: true, isComposing: true, keyCode: 229 };
      element.dispatchEvent(new KeyboardEvent("keydown", key));
    });
    expect(await page.evaluate(() => window.recorded?.commands)).toEqual([]);
    await field.press("Enter");
    await expect
      .poll(() => page.evaluate(() => window.recorded?.commands))
      .toEqual([["send", { text: "One\ntwo", locale: "en" }]]);
    await expect.poll(() => field.inputValue()).toBe("");
    await expect.poll(() => page.locator(".ts-user .ts-bubble").innerText()).toBe("One\ntwo");
  });

  test("takes files by button and paste, and sends them with the message", async () => {
    const page = await openRecorded();
    await start(page, []);
    const choosing = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Attach files" }).click();
    const file = { name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("abc") };
    await (await choosing).setFiles([file]);
    await page.locator(".ts-chip[data-status=done]").waitFor();
    await page.getByRole("textbox", { name: "Message" }).evaluate((element) => {
      const data = new DataTransfer();
      data.items.add(new File(["xyz"], "b.txt", { type: "text/plain" }));
      element.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
    });
    await expect.poll(() => page.locator(".ts-chip[data-status=done]").count()).toBe(2);
    await page.getByRole("button", { name: "Remove b.txt" }).click();
    await page.getByRole("button", { name: "Send" }).click();
    const sent = () => page.evaluate(() => window.recorded?.commands.find(([name]) => name === "send")?.[1]);
    await expect.poll(sent).toMatchObject({ text: "", files: [{ name: "a.txt" }] });
    await expect.poll(() => page.locator(".ts-attachments").count()).toBe(0);
  });

  test("U07 stops the running turn", async () => {
    const page = await openRecorded();
    const log = startedStory();
    await start(page, log.events);
    await page.getByRole("button", { name: "Stop" }).click();
    const turn = foldAll(log.events).turns.last()?.id;
    await expect.poll(() => page.evaluate(() => window.recorded?.commands)).toEqual([["stop", turn]]);
    const at = log.events.length;
    log.end("user_stopped");
    await playEvents(page, log, at);
    await expect.poll(() => page.getByRole("button", { name: "Stop" }).count()).toBe(0);
  });

  test("a refused message shows the reason, and can be sent again or discarded", async () => {
    const page = await openRecorded();
    await start(page, []);
    await page.evaluate(() => {
      const why = { code: "RATE_LIMITED", canRetry: true, retryAfterSeconds: 20 };
      // The class is not part of the page's globals.
      const error = Object.assign(new Error("Too many messages."), why) as ClientError;
      window.recorded?.show({
        outbox: [{ id: "m1", text: "Hello", files: [], at: 0, status: "failed", error, isOwn: true }],
      });
    });
    await page.getByText("A limit was reached. Try again later.", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Send again" }).click();
    await page.getByRole("button", { name: "Discard" }).click();
    await expect
      .poll(() => page.evaluate(() => window.recorded?.commands))
      .toEqual([
        ["resendMessage", "m1"],
        ["cancelMessage", "m1"],
      ]);
  });
});

/** Returns the height of the thread and the end of the composer under more styles. */
async function measureThread(
  page: Page,
  css: string,
): Promise<readonly [height: number, composerEnd: number]> {
  await page.addStyleTag({ content: css });
  const thread = await page.locator(".ts-thread").boundingBox();
  const composer = await page.locator(".ts-composer").boundingBox();
  return [Math.round(thread?.height ?? 0), Math.round((composer?.y ?? 0) + (composer?.height ?? 0))];
}

describe("the height of a thread", () => {
  const NO_HEIGHT = "html, body, #root { block-size: auto !important }";

  test("is that of the window in a container without a height, empty or long", async () => {
    for (const log of [startedStory(), withTool()]) {
      const page = await openRecorded();
      await start(page, log.events);
      const [height, composerEnd] = await measureThread(page, NO_HEIGHT);
      expect(height).toBe(700);
      expect(composerEnd).toBeLessThanOrEqual(700);
    }
  });

  test("is that of a container with a height, also beside other elements", async () => {
    const page = await openRecorded();
    await start(page, withTool().events);
    expect((await measureThread(page, "#root { block-size: 300px !important }"))[0]).toBe(300);
    const beside =
      "#root { display: flex; flex-direction: column } #root::before { content: ''; flex: 0 0 100px }";
    expect((await measureThread(page, beside))[0]).toBe(200);
  });
});
