/** Tests the pure rules of the cards: countdown, formatted arguments and values of a submitted form. */
import type { ArgumentField, FormField, Json } from "@turnstream/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  formatClock,
  secondsUntil,
  announcedBetween,
  msUntilNextSecond,
} from "../../src/cards/use-countdown.ts";
import { formatSize } from "../../src/format.ts";
import { formatArgument, nameArgument } from "../../src/cards/format-argument.ts";
import { formatValue } from "../../src/cards/format-argument.ts";
import { en } from "../../src/strings/en.ts";
import { vi } from "../../src/strings/vi.ts";
import { zhCn } from "../../src/strings/zh-cn.ts";
import { zhTw } from "../../src/strings/zh-tw.ts";

const field = (name: string, type: FormField["type"], more: Partial<FormField> = {}): FormField => ({
  name,
  label: name,
  type,
  required: true,
  ...more,
});

const format = (value: Json, about: Omit<ArgumentField, "name">, strings = en, names = {}) =>
  formatArgument(value, { name: "a", ...about }, names, strings);

describe("U05: the countdown", () => {
  test("counts to the server's deadline, even if the local clock is wrong", () => {
    // The server's clock is 60 s ahead.
    expect(secondsUntil(100_000, 30_000, 60_000)).toBe(10);
    expect(secondsUntil(100_000, 39_001, 60_000)).toBe(1);
    expect(secondsUntil(100_000, 50_000, 60_000)).toBe(0);
  });

  test("changes exactly when the next second starts", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e7 }), fc.integer({ min: -1e6, max: 1e6 }), (left, skew) => {
        const now = 5_000_000;
        const deadline = now + skew + left;
        const wait = msUntilNextSecond(deadline, now, skew);
        const seconds = secondsUntil(deadline, now, skew);
        expect(secondsUntil(deadline, now + wait - 1, skew)).toBe(seconds);
        expect(secondsUntil(deadline, now + wait, skew)).toBe(seconds - 1);
      }),
    );
  });

  test("is announced at 60, 30 and 10 seconds, and at no other time", () => {
    let before: number | null = null;
    const announced: number[] = [];
    for (let seconds = 300; seconds >= 0; seconds--) {
      const now = announcedBetween(before, seconds);
      if (now !== null) announced.push(now);
      before = seconds;
    }
    expect(announced).toEqual([60, 30, 10]);
    // After sleep, only the last passed threshold is announced. Nothing is announced on opening or after the end.
    expect(announcedBetween(200, 7)).toBe(10);
    expect(announcedBetween(null, 7)).toBe(null);
    expect(announcedBetween(200, 0)).toBe(null);
  });

  test("is formatted like a clock", () => {
    expect([277, 7, 0, 3_723].map(formatClock)).toEqual(["4:37", "0:07", "0:00", "1:02:03"]);
  });
});

describe("U05: formatted arguments", () => {
  test("numbers have the digits of the language and their unit, and are not rounded", () => {
    expect(format(83_000, { type: "number", unit: "VND" })).toBe("83,000 VND");
    expect(format(83_000, { type: "number", unit: "VND" }, vi)).toBe("83.000 VND");
    expect(format(0.123456789012, { type: "number" })).toBe("0.123456789012");
    // It can be a year.
    expect(format(2026, { type: "number" })).toBe("2026");
    expect(format(2_026_000, { type: "number" })).toBe("2,026,000");
  });

  test("dates, options and booleans are texts of the language", () => {
    expect(format("2026-04-30", { type: "date" })).toBe("April 30, 2026");
    expect(format(true, { type: "boolean" }, vi)).toBe(vi.cards.yes);
    const side = { type: "select", options: [{ value: "buy", label: "Buy" }] } as const;
    expect(format("buy", side)).toBe("Buy");
    expect(format("buy", side, vi, { "a.buy": "Mua" })).toBe("Mua");
    expect(format("hold", side)).toBe(null);
  });

  test("a value of another type than the schema states is only shown as it is", () => {
    expect(format("83000", { type: "number" })).toBe(null);
    expect(format(1, { type: "boolean" })).toBe(null);
    expect(format(20_260_430, { type: "date" })).toBe(null);
    expect(formatArgument(1, undefined, {}, en)).toBe(null);
  });

  test("names of the app come before those of the schema, and those before the name of the argument", () => {
    expect(nameArgument("max_price", "Limit price", { max_price: "Giá tối đa" })).toBe("Giá tối đa");
    expect(nameArgument("max_price", "Limit price", {})).toBe("Limit price");
    expect(nameArgument("max_price", undefined, {})).toBe("Max price");
  });
});

describe("values of a submitted form", () => {
  test("formatValue shows options, checkboxes and files by their labels", () => {
    const options = [{ value: "v", label: "Vegetarian" }];
    expect(formatValue(field("m", "select", { options }), "v", en)).toBe("Vegetarian");
    expect(formatValue(field("m", "multiSelect", { options }), ["v", "x"], en)).toBe("Vegetarian, x");
    expect(formatValue(field("m", "checkbox"), false, en)).toBe("No");
    expect(formatValue(field("m", "file"), { upload: "1", name: "a.pdf" }, en)).toBe("a.pdf");
  });

  test.each([
    [en, "April 30, 1990", "12,345.678901"],
    [vi, "30 tháng 4, 1990", "12.345,678901"],
    [zhCn, "1990年4月30日", "12,345.678901"],
    [zhTw, "1990年4月30日", "12,345.678901"],
  ])("U07 formatValue formats dates and numbers for the locale ($locale)", (strings, day, number) => {
    expect(formatValue(field("d", "date"), "1990-04-30", strings)).toBe(day);
    expect(formatValue(field("d", "date"), "soon", strings)).toBe("soon");
    expect(formatValue(field("n", "number"), 12345.678901, strings)).toBe(number);
    // A phone number consists of digits but must not be formatted as a number.
    expect(formatValue(field("p", "phone"), "0901234567", strings)).toBe("0901234567");
  });
});

test.each([en, vi, zhCn, zhTw])("file sizes have no English word ($locale)", (strings) => {
  const shown = [0, 12, 376, 999, 1_000, 1_234_567, 5e9, 5e12].map((bytes) => formatSize(strings, bytes));
  expect(shown.join(" ")).toMatch(/^0 kB 0[.,]1 kB 0[.,]4 kB 1 kB 1 kB 1[.,]2 MB 5 GB [\d.,]+ GB$/);
});
