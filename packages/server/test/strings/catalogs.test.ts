import { describe, expect, test } from "vitest";
import { BUILT_IN_STRINGS, selectStrings, type StringCatalogs } from "../../src/strings/catalogs.ts";

const select = (locale: string | null, strings: StringCatalogs = {}, defaultLocale = "en") =>
  selectStrings(locale, { strings, defaultLocale });

describe("the texts of a turn (U11)", () => {
  test.each([
    ["en", "en"],
    ["en-GB", "en"],
    ["vi-VN", "vi"],
    ["zh-CN", "zh-CN"],
    ["zh-SG", "zh-CN"],
    ["zh", "zh-CN"],
    ["zh-TW", "zh-TW"],
    ["zh-HK", "zh-TW"],
    ["de-DE", "en"],
    ["not a tag", "en"],
    [null, "en"],
  ] as const)("%s has the texts of %s", (locale, expected) => {
    expect(select(locale)).toEqual(BUILT_IN_STRINGS[expected]);
  });

  test("without a language, they are in the worker's default", () => {
    expect(select(null, {}, "vi").stopped).toBe(BUILT_IN_STRINGS.vi.stopped);
    expect(select("de", {}, "vi").stopped).toBe(BUILT_IN_STRINGS.vi.stopped);
    expect(select("en", {}, "vi").stopped).toBe(BUILT_IN_STRINGS.en.stopped);
  });

  test("the worker's text replaces the built-in one of its language only", () => {
    const own = { "zh-CN": { stopped: "自定义", errors: { LLM_ERROR: "模型出错" } } };
    expect(select("zh-CN", own).stopped).toBe("自定义");
    expect(select("zh-CN", own).rejected).toBe(BUILT_IN_STRINGS["zh-CN"].rejected);
    expect(select("zh-CN", own).errors).toEqual({
      ...BUILT_IN_STRINGS["zh-CN"].errors,
      LLM_ERROR: "模型出错",
    });
    // The built-in text of the user's own language comes before another script.
    expect(select("zh-TW", own).stopped).toBe(BUILT_IN_STRINGS["zh-TW"].stopped);
    expect(select("en", own).stopped).toBe(BUILT_IN_STRINGS.en.stopped);
  });

  test("a language without built-in texts takes the missing ones from English", () => {
    const french = { fr: { stopped: "Arrêté." } };
    expect(select("fr-CA", french).stopped).toBe("Arrêté.");
    expect(select("fr-CA", french).rejected).toBe(BUILT_IN_STRINGS.en.rejected);
  });

  test("names of object properties are no languages", () => {
    expect(select("constructor").stopped).toBe(BUILT_IN_STRINGS.en.stopped);
  });

  test("counts have the plural forms of their language", () => {
    const { filesRead, limit } = BUILT_IN_STRINGS.en;
    expect([filesRead(1, 1, 0), filesRead(2, 2, 1), filesRead(0, 1, 0)]).toEqual([
      "Read 1 file",
      "Read 2 files, 1 of them only the start",
      "Read 0 of 1 file",
    ]);
    expect(limit({ limit: "steps", value: 1 })).toContain("(1 step)");
    expect(limit({ limit: "seconds", value: 1_200 })).toContain("(1,200 seconds)");
    expect(BUILT_IN_STRINGS.vi.limit({ limit: "tokens", value: 5_000 })).toContain("5.000 token");
  });
});
