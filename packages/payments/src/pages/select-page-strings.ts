/**
 * `selectPageStrings` returns the texts of a payment page in the language of the payment, else in one that the browser
 * accepts, else in English. Pure.
 * Invariant: the language tags are untrusted: an invalid one is skipped and never throws. At most 20 tags are read.
 */
import { localeFallbacks } from "@turnstream/protocol";
import { en, type PageStrings } from "./en.ts";
import { vi } from "./vi.ts";
import { zhCn } from "./zh-cn.ts";
import { zhTw } from "./zh-tw.ts";

/** The texts by language tag. */
export const PAGE_STRINGS: Readonly<Record<string, PageStrings>> = {
  en,
  vi,
  "zh-CN": zhCn,
  "zh-TW": zhTw,
};

const MAX_TAGS = 20;

/**
 * @param locale the language of the payment, or null if it is unknown
 * @param acceptLanguage the header of the request
 */
export function selectPageStrings(locale: string | null, acceptLanguage = ""): PageStrings {
  const tags = [locale ?? "", ...parseAcceptLanguage(acceptLanguage)];
  const found = tags.flatMap(localeFallbacks).find((tag) => Object.hasOwn(PAGE_STRINGS, tag));
  return PAGE_STRINGS[found ?? "en"] ?? en;
}

/** Returns the tags in the order of their weights. */
function parseAcceptLanguage(header: string): string[] {
  return header
    .split(",", MAX_TAGS)
    .map((item) => {
      const [tag = "", ...parameters] = item.split(";").map((part) => part.trim());
      const quality = parameters.find((parameter) => parameter.startsWith("q="));
      return { tag, quality: quality === undefined ? 1 : Number(quality.slice(2)) };
    })
    .filter(({ quality }) => quality > 0)
    .toSorted((a, b) => b.quality - a.quality)
    .map(({ tag }) => tag);
}
