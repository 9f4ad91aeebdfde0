/** Tests that a switch of the language leaves no text of the previous language. */
import { en, type Strings } from "@turnstream/react";
import { vi } from "@turnstream/react/strings/vi";
import { zhCn } from "@turnstream/react/strings/zh-cn";
import { zhTw } from "@turnstream/react/strings/zh-tw";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openStage, show, stateNames, withBrowser } from "./stage-page.ts";
import { STATES } from "./states/index.ts";

withBrowser();

const HOLE = "\uE000";

/** Returns every text of a catalogue by its path, with a placeholder for each parameter. */
function textsOf(strings: unknown, path = ""): [path: string, text: string][] {
  if (typeof strings === "string") return [[path, strings]];
  if (typeof strings === "function") {
    const holes = Array.from({ length: strings.length }, () => HOLE);
    const text: unknown = Reflect.apply(strings, undefined, holes);
    // A text with plural forms formats its parameter as a number, so the placeholder becomes NaN.
    return typeof text === "string" ? [[path, text.replaceAll(/NaN|非數值/gu, HOLE)]] : [];
  }
  if (typeof strings !== "object" || strings === null) return [];
  return Object.entries(strings).flatMap(([key, value]) => textsOf(value, `${path}.${key}`));
}

/** Returns patterns for texts that are English and differ in the other language. */
function onlyEnglish(other: Strings): RegExp[] {
  const theirs = new Map(textsOf(other));
  return textsOf(en)
    .filter(([path, text]) => path !== ".locale" && theirs.get(path) !== text && /[a-z]/i.test(text))
    .map(([, text]) => new RegExp(`^${escaped(text)}$`.replaceAll(HOLE, ".*"), "u"));
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
}

/** Returns the error messages of a state, which are always in English. */
function errorsOf(name: string): string[] {
  const { view, refusal } = STATES.find((state) => state.name === name) ?? {};
  const errors = [
    view?.connection?.error,
    view?.history?.error,
    ...(view?.outbox ?? []).map(({ error }) => error),
    refusal,
  ];
  return errors.flatMap((error) => error?.message ?? []);
}

async function visibleTexts(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const texts: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode() !== null) texts.push(walker.currentNode.textContent?.trim() ?? "");
    for (const name of ["aria-label", "placeholder", "title", "alt", "aria-valuetext"])
      for (const element of document.querySelectorAll(`[${name}]`))
        texts.push(element.getAttribute(name) ?? "");
    // Ignore texts of agents and users: they are not translated.
    const log = JSON.stringify(window.gallery?.events ?? []);
    return texts.filter((text) => text !== "" && !log.includes(JSON.stringify(text).slice(1, -1)));
  });
}

test.each([
  ["vi", vi],
  ["zh-CN", zhCn],
  ["zh-TW", zhTw],
] as const)("no state contains English text in %s", async (locale, strings) => {
  const page = await openStage({ reducedMotion: "reduce" });
  const left: Record<string, string[]> = {};
  const english = onlyEnglish(strings);
  const names = await stateNames(page);
  expect(names.filter((name) => errorsOf(name).length > 0).length).toBeGreaterThan(5);
  for (const name of names) {
    // English first: a switch must replace every text.
    await page.evaluate(async () => await window.gallery?.setAppearance({ locale: "en" }));
    await show(page, name);
    await page.evaluate(async (to) => await window.gallery?.setAppearance({ locale: to }), locale);
    const found = (await visibleTexts(page)).filter(
      (text) =>
        english.some((pattern) => pattern.test(text)) ||
        errorsOf(name).some((message) => text.includes(message)),
    );
    if (found.length > 0) left[name] = found;
  }
  expect(left).toEqual({});
});

test("the test detects English text", async () => {
  const page = await openStage();
  const english = onlyEnglish(vi);
  await show(page, "group/running-3");
  expect((await visibleTexts(page)).some((text) => english.some((pattern) => pattern.test(text)))).toBe(true);
  await page.evaluate(async () => await window.gallery?.setAppearance({ locale: "vi" }));
  expect((await visibleTexts(page)).some((text) => english.some((pattern) => pattern.test(text)))).toBe(
    false,
  );
});
