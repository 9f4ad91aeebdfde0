/**
 * `readTexts` reads every text of a page, also those for screen readers. `findForeignTexts` returns those that are in
 * another language than the page, for tests.
 *
 * Invariant: names of stocks and the like are the same in all languages. Not read are the names of the languages in the
 * menu, and code: the arguments of a tool call, which the model wrote for the tool.
 */
import type { Page } from "playwright-core";
import { en as threadEn } from "@turnstream/react";
import { en as agentEn } from "./agent/lines/en.ts";
import { LANGUAGES } from "./page/languages.ts";
import { type Locale, LOCALES } from "./shared/locales.ts";

export async function readTexts(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const texts: string[] = [document.title];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode())
      if (walker.currentNode.parentElement?.closest("script, style, select, pre") === null)
        texts.push(walker.currentNode.textContent ?? "");
    for (const name of ["aria-label", "title", "placeholder", "alt", "aria-description"])
      for (const element of document.body.querySelectorAll(`[${name}]`))
        texts.push(element.getAttribute(name) ?? "");
    return [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ""))];
  });
}

/** Names that no language translates. An approval shows the exact name of its tool, such as `buy_stock`. */
const NAMES =
  /https?:\S+|\S+\.example\.com\S*|\b(?:VNM|FPT|HPG|VCB|MWG|VN-Index|VND|VN|P\/E|CSV|csv|kB|AI|Enter|Esc|Y|E|N|A|B)\b|ANTHROPIC_API_KEY|OPENAI_API_KEY|Turnstream|\b[a-z]+(?:_[a-z]+)+\b/g;
/** Common English that is no syllable of Vietnamese. */
const ENGLISH =
  /\b(?:the|and|is|are|of|you|your|with|not|this|that|was|will|for|from|thinking|thought|steps?|running|done|failed|stop|stopped|send|sent|approve|reject|edit|answer|error|loading|copy|show|hide|open|close|new|search|result|file|files|table|chart|total|waiting|working)\b/i;
const CHINESE = /\p{Script=Han}/u;
/** Characters that one script of Chinese has and the other has not. */
const SIMPLIFIED = /[这为说时们个开关发现问题应该见览询场级单观类]/;
const TRADITIONAL = /[這為說時們個開關發現問題應該見覽詢場級單觀類]/;

const FOREIGN: Readonly<Record<Locale, (text: string) => boolean>> = {
  en: (text) => /(?=\p{L})[^\p{ASCII}]/u.test(text),
  vi: (text) => CHINESE.test(text) || ENGLISH.test(text) || ENGLISH_TEXTS.has(text),
  "zh-CN": (text) => /\p{Script=Latin}{2}/u.test(text) || TRADITIONAL.test(text),
  "zh-TW": (text) => /\p{Script=Latin}{2}/u.test(text) || SIMPLIFIED.test(text),
};

const ENGLISH_TEXTS = new Set(listStrings([threadEn, agentEn, LANGUAGES.en.strings]));

/** Texts of the other languages that were sent by the user on purpose are the caller's to leave out. */
export function findForeignTexts(locale: Locale, texts: readonly string[]): string[] {
  return texts.filter((text) => FOREIGN[locale](text.replaceAll(NAMES, "")));
}

function listStrings(value: unknown): string[] {
  if (typeof value === "string") return /\p{L}{2}/u.test(value.replaceAll(NAMES, "")) ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(listStrings);
}

/** Texts that the check must find in a page of a language: one of each other language. */
export function listPlantedTexts(locale: Locale): string[] {
  return LOCALES.filter((other) => other !== locale).map((other) => LANGUAGES[other].strings.tagline);
}
