/**
 * Tests the optional parts of the Markdown renderer in Chromium: what they load and when, what they draw, and what stays
 * of an answer that grows.
 */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { numbered, texts } from "./hostile/places.ts";
import { append, openRecordedWithPlugins, start, withRecordedPages } from "./recorded-page.ts";

withRecordedPages();

/** Shows the parts of an answer one after the other. */
class Answer {
  readonly #page: Page;
  readonly #rounds: ReturnType<typeof texts>;
  #count = 0;

  constructor(page: Page, parts: readonly string[]) {
    this.#page = page;
    this.#rounds = texts([parts.join("")], () => parts);
  }

  async start(): Promise<void> {
    const first = this.#rounds.shift() ?? [];
    await start(this.#page, numbered(first));
    this.#count = first.length;
  }

  async next(): Promise<void> {
    const round = this.#rounds.shift() ?? [];
    await append(this.#page, numbered(round, this.#count));
    this.#count += round.length;
  }
}

async function open(parts: readonly string[]): Promise<{ page: Page; answer: Answer; loaded: string[] }> {
  const page = await openRecordedWithPlugins();
  const loaded: string[] = [];
  page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  const answer = new Answer(page, parts);
  await answer.start();
  return { page, answer, loaded };
}

test("an answer without code, formulas and diagrams loads no plugin", async () => {
  const { page, answer, loaded } = await open(["A **word**, `code` and 5 $."]);
  await answer.next();
  await page.locator(".ts-markdown strong").waitFor();
  expect(loaded.filter((path) => /highlight|math|temml|mermaid/i.test(path))).toEqual([]);
});

test("a code block is colored when it is closed, and stays as it is while the answer grows", async () => {
  const { page, answer, loaded } = await open(["```ts\nlet a = 1;\n", "```\n\nThen", " more.\n\nAnd more."]);
  await answer.next();
  await page.locator(".ts-code").waitFor();
  expect(await page.locator(".ts-code code").innerHTML()).toBe("let a = 1;");
  expect(loaded.filter((path) => /highlight/i.test(path))).toEqual([]);
  await answer.next();
  const keyword = page.locator(".ts-hl-keyword");
  await keyword.waitFor();
  expect(await page.locator(".ts-code code").innerText()).toBe("let a = 1;");
  const before = await keyword.elementHandle();
  await answer.next();
  await page.getByText("And more.").waitFor();
  expect(await before?.evaluate((element) => element.isConnected)).toBe(true);
});

test("a formula is drawn when it is closed", async () => {
  const { page, answer } = await open(["The area:\n\n$$\n\\pi r^2", "\n$$\n\nDone $x$."]);
  await answer.next();
  await page.getByText("The area:").waitFor();
  expect(await page.locator("math").count()).toBe(0);
  await answer.next();
  await expect.poll(() => page.locator(".ts-formula math").count()).toBe(2);
  const { width = 0, height = 0 } = (await page.locator(".ts-formula-display math").boundingBox()) ?? {};
  expect([width > 20, height > 10]).toEqual([true, true]);
});

test("a diagram is an image with its source as text, and one with an error stays code", async () => {
  const { page, answer, loaded } = await open([
    "```mermaid\ngraph TD\nStart-->End\n```\n\n```mermaid\nno such diagram\n```\n",
  ]);
  await answer.next();
  const diagram = page.locator("img.ts-diagram");
  await diagram.waitFor({ timeout: 30_000 });
  expect(await diagram.getAttribute("alt")).toBe("graph TD\nStart-->End");
  const size = () => diagram.evaluate((image) => (image as HTMLImageElement).naturalHeight);
  await expect.poll(size).toBeGreaterThan(30);
  expect(await page.locator(".ts-code code").allInnerTexts()).toEqual(["no such diagram"]);
  expect(loaded.filter((path) => /mermaid\.min/.test(path))).toHaveLength(1);
});
