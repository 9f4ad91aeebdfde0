import { describe, expect, test } from "vitest";
import { canonicalLocale, countText, localeFallbacks, MAX_LOCALE } from "../src/locale.ts";
import { postMessage, socketCommandSchema } from "../src/schema.ts";

describe("language tags (U11)", () => {
  test.each([
    ["zh-tw", "zh-TW"],
    ["EN", "en"],
    ["zh-hant-hk", "zh-Hant-HK"],
    ["vi-VN", "vi-VN"],
  ])("%s is %s", (tag, canonical) => {
    expect(canonicalLocale(tag)).toBe(canonical);
  });

  test.each(["", "e", "en_US", "en-", "en us", "*", "../en", "en-a", `en-${"a".repeat(MAX_LOCALE)}`])(
    "%j is refused, by commands too",
    (locale) => {
      expect(canonicalLocale(locale)).toBeNull();
      expect(localeFallbacks(locale)).toEqual([]);
      const send = { type: "send", session_id: "s", client_message_id: "m", text: "hi" };
      expect(socketCommandSchema.safeParse({ ...send, locale: "zh-TW" }).success).toBe(true);
      expect(socketCommandSchema.safeParse({ ...send, locale }).success).toBe(false);
      expect(postMessage.safeParse({ message: "hi", locale: "zh-TW" }).success).toBe(true);
      expect(postMessage.safeParse({ message: "hi", locale }).success).toBe(false);
    },
  );

  test.each([
    ["en-GB", ["en-GB", "en-Latn", "en"]],
    ["zh-TW", ["zh-TW", "zh-Hant", "zh-CN", "zh"]],
    ["zh-HK", ["zh-HK", "zh-Hant", "zh-TW", "zh-CN", "zh"]],
    ["zh-Hant", ["zh-Hant", "zh-TW", "zh-CN", "zh"]],
    ["zh", ["zh", "zh-CN", "zh-Hans", "zh-TW"]],
    ["zh-Hans-TW", ["zh-Hans-TW", "zh-Hans", "zh-CN", "zh-TW", "zh"]],
  ])("the fallbacks of %s go from specific to general", (tag, fallbacks) => {
    expect(localeFallbacks(tag)).toEqual(fallbacks);
  });
});

test("U11 a count has the plural form and the digits of its language", () => {
  const files = countText("en", { one: "# file", other: "# files" });
  expect([0, 1, 2, 1_000].map(files)).toEqual(["0 files", "1 file", "2 files", "1,000 files"]);
  const polish = countText("pl", { one: "# plik", few: "# pliki", many: "# plików", other: "# pliku" });
  expect([1, 2, 5, 22, 1.5].map(polish)).toEqual(["1 plik", "2 pliki", "5 plików", "22 pliki", "1,5 pliku"]);
  expect(countText("vi", { other: "# tệp" })(1_234)).toBe("1.234 tệp");
  expect(countText("zh-TW", { other: "# 個檔案" })(1)).toBe("1 個檔案");
});
