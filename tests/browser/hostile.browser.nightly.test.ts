/**
 * Tests that untrusted content can't run scripts, load from other hosts, or navigate away (reliability.md 23). It uses
 * the corpus as answers, whole and in chunks, and in every other place where it is shown. The page has no CSP, so the
 * renderer alone must prevent it.
 */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { CORPUS } from "./hostile/corpus.ts";
import { everywhere, numbered, texts } from "./hostile/places.ts";
import { append, openRecorded, openRecordedWithPlugins, start, withRecordedPages } from "./recorded-page.ts";

withRecordedPages();

interface Watched {
  readonly page: Page;
  /** Events that must not happen: scripts that ran, requests to other hosts, navigations. */
  readonly events: string[];
}

async function watched(open = openRecorded): Promise<Watched> {
  const page = await open();
  const events: string[] = [];
  const { origin } = new URL(page.url());
  await page.route("**", async (route) => {
    const url = route.request().url();
    if (url.startsWith(`${origin}/`) && !/\/(logout|evil|x|p)\b/.test(url)) return await route.continue();
    events.push(`requested ${url}`);
    await route.fulfill({ contentType: "image/svg+xml", body: '<svg xmlns="http://www.w3.org/2000/svg"/>' });
  });
  page.context().on("page", (opened) => events.push(`opened ${opened.url()}`));
  // The frame of Mermaid has no address. An answer can't add a frame: see `strangers`.
  page.on("framenavigated", (frame) => {
    if (frame.url() !== "about:srcdoc") events.push(`went to ${frame.url()}`);
  });
  page.on("dialog", (dialog) => void dialog.dismiss().then(() => events.push("a dialog")));
  await page.exposeFunction("ran", () => void events.push("a script ran"));
  return { page, events };
}

/** Returns elements that only untrusted content could have created, and unsafe URLs. */
async function strangers(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const found: string[] = [];
    const inside = document.querySelector(".ts-turns");
    const bad =
      "script, iframe, object, embed, style, link, meta, base, video, audio, math:not(.ts-formula > math), form[action], svg:not(.ts-icon)";
    for (const element of inside?.querySelectorAll(bad) ?? []) found.push(element.outerHTML.slice(0, 200));
    for (const element of inside?.querySelectorAll("*") ?? []) {
      for (const { name, value } of element.attributes) {
        if (/^on|^srcset$|^ping$/.test(name)) found.push(`${name}=${value}`.slice(0, 200));
        if (name === "style" && /url|image-set|@import/i.test(value))
          found.push(`${name}=${value}`.slice(0, 200));
        if (
          /^(href|src|action|formaction|data)$/.test(name) &&
          !/^(https?:\/\/|mailto:|\/api\/v1\/|data:image\/)/.test(value)
        )
          found.push(`${name}=${value}`.slice(0, 200));
      }
      if (
        element instanceof HTMLAnchorElement &&
        (element.rel !== "noopener noreferrer nofollow" || element.target !== "_blank")
      )
        found.push(`a link without its guards: ${element.href}`.slice(0, 200));
    }
    return found;
  });
}

/** Moves mouse and focus over the page, and waits for requests that would be sent. */
async function linger(page: Page): Promise<void> {
  await page.mouse.move(400, 300);
  await page.keyboard.press("Tab");
  await page.waitForTimeout(250);
}

test("the corpus has at least 150 different texts", () => {
  expect(new Set(CORPUS).size).toBeGreaterThanOrEqual(150);
});

test("the test itself detects forbidden events", async () => {
  const { page, events } = await watched();
  await start(page, numbered(everywhere("x")));
  await page.evaluate(() => {
    const made = document.createElement("div");
    made.innerHTML = `<img src="https://evil.example/p" onload="ran()">`;
    document.querySelector(".ts-turns")?.append(made);
  });
  await expect.poll(() => events).toEqual(["requested https://evil.example/p", "a script ran"]);
  expect(await strangers(page)).toEqual(["onload=ran()"]);
});

const PLUGINS = [
  ["without plugins", false],
  ["with every plugin", true],
] as const;

/** Waits until the plugins have drawn what they can draw. */
async function untilDrawn(page: Page): Promise<void> {
  for (const drawn of [".ts-hl-string", ".ts-formula math", ".ts-diagram"]) {
    const count = () => page.locator(drawn).count();
    await expect.poll(count, { timeout: 60_000 }).toBeGreaterThan(0);
  }
  const diagrams = () => page.locator(".ts-diagram").count();
  let before = -1;
  // Diagrams are drawn one after the other, and one with an error may need its whole time.
  await expect
    .poll(
      async () => {
        const isSame = before === (before = await diagrams());
        return isSame;
      },
      { timeout: 120_000, interval: 11_000 },
    )
    .toBe(true);
}

test.each(PLUGINS)(
  "U07: no answer runs a script, loads a resource or navigates, whole or in chunks, %s",
  async (_name, isOn) => {
    const { page, events } = await watched(isOn ? openRecordedWithPlugins : openRecorded);
    const bodies = () => page.locator(".ts-markdown > *:not(.ts-plain)").count();
    const cuts = [
      (text: string) => [text],
      // Differs between texts, but is the same in every run.
      (text: string) => {
        const size = 1 + (text.length % 7);
        const parts = Array.from({ length: 9 }, (_, n) => text.slice(n * size, (n + 1) * size));
        return [...parts, text.slice(9 * size)].filter((part) => part !== "");
      },
    ];
    for (const cut of cuts) {
      const [first = [], ...rounds] = texts(CORPUS, cut);
      await start(page, numbered(first));
      let after = first.length;
      for (const round of rounds) {
        await append(page, numbered(round, after));
        after += round.length;
      }
      await expect.poll(bodies, { timeout: 60_000 }).toBeGreaterThan(CORPUS.length / 2);
      if (isOn) await untilDrawn(page);
      await linger(page);
      expect(await strangers(page)).toEqual([]);
      expect(events).toEqual([]);
    }
  },
  300_000,
);

test.each(PLUGINS)(
  "U07: no name, label, argument, result, card or artifact runs a script, loads a resource or navigates, %s",
  async (_name, isOn) => {
    const { page, events } = await watched(isOn ? openRecordedWithPlugins : openRecorded);
    for (const text of CORPUS) {
      await start(page, numbered(everywhere(text)));
      await page.evaluate(() => {
        for (const shut of document.querySelectorAll<HTMLElement>(
          "[aria-expanded=false]:not(.ts-a, .ts-button)",
        ))
          shut.click();
      });
      expect(await strangers(page), text.slice(0, 100)).toEqual([]);
      expect(events, text.slice(0, 100)).toEqual([]);
    }
    await linger(page);
    expect(events).toEqual([]);
  },
  600_000,
);

test("a link to an unlisted host asks first, shows the real host, and opens without a referrer", async () => {
  const { page, events } = await watched();
  const [first = [], ...rest] = texts(["[https://good.example](https://evil.example/x?q=1)"], (text) => [
    text,
  ]);
  await start(page, numbered([...first, ...rest.flat()]));
  const link = page.locator("button.ts-a");
  await link.waitFor();
  await expect.poll(() => link.textContent()).toBe("https://good.example (evil.example)");
  await link.focus();
  await page.keyboard.press("Enter");
  const open = page.locator(".ts-link-ask a");
  await expect.poll(() => page.locator(".ts-link-ask").textContent()).toContain("evil.example");
  await expect.poll(() => open.getAttribute("href")).toBe("https://evil.example/x?q=1");
  await expect.poll(() => open.getAttribute("referrerpolicy")).toBe("no-referrer");
  expect(events).toEqual([]);
  await page.keyboard.press("Tab");
  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("Open");
  await page.keyboard.press("Escape");
  await expect.poll(() => page.locator(".ts-link-ask").count()).toBe(0);
});

test("an image from another host is loaded only after a click", async () => {
  const { page, events } = await watched();
  const [first = [], ...rest] = texts(["![A cat](https://evil.example/cat.png)"], (text) => [text]);
  await start(page, numbered([...first, ...rest.flat()]));
  const load = page.getByRole("button", { name: "Load" });
  await load.waitFor();
  await expect.poll(() => page.locator(".ts-image-ask").textContent()).toContain("evil.example");
  expect(events).toEqual([]);
  await load.click();
  await expect.poll(() => events).toEqual(["requested https://evil.example/cat.png"]);
});

test("a click loads one image URL: another URL in its place needs another click", async () => {
  const { page, events } = await watched();
  // The URL is still streaming when the image is already shown.
  const parts = ["![A cat][c]\n\n[c]: https://evil.example/cat", ".example/dog.png"];
  const [first = [], half = [], ...rest] = texts([parts.join("")], () => parts);
  await start(page, numbered([...first, ...half]));
  const load = page.getByRole("button", { name: "Load" });
  await load.click();
  await expect.poll(() => events).toEqual(["requested https://evil.example/cat"]);
  await append(page, numbered(rest.flat(), first.length + half.length));
  await load.waitFor();
  await linger(page);
  expect(events).toEqual(["requested https://evil.example/cat"]);
});
