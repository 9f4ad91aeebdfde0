/** Tests the pure rules of the cards: countdown, selected answers, edited arguments and values of a submitted form. */
import { type ArgumentField, type FormField, type Json, type Question } from "@turnstream/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  formatClock,
  secondsUntil,
  announcedBetween,
  msUntilNextSecond,
} from "../../src/cards/use-countdown.ts";
import { toInput, toEditFields, findFieldProblem, parseObject } from "../../src/cards/edit-arguments.ts";
import { formatSize } from "../../src/format.ts";
import { formatArgument, nameArgument } from "../../src/cards/format-argument.ts";
import { formatValue } from "../../src/cards/format-value.ts";
import { toAnswers, toggleOption, setText } from "../../src/cards/use-question-request.ts";
import { en } from "../../src/strings/en/index.ts";
import { vi } from "../../src/strings/vi/index.ts";
import { zhCn } from "../../src/strings/zh-cn/index.ts";
import { zhTw } from "../../src/strings/zh-tw/index.ts";

const field = (name: string, type: FormField["type"], more: Partial<FormField> = {}): FormField => ({
  name,
  label: name,
  type,
  required: true,
  ...more,
});

const ARGUMENTS: readonly ArgumentField[] = [
  { name: "until", type: "date" },
  { name: "side", type: "select", options: [{ value: "buy", label: "Buy" }] },
  { name: "price", type: "number", unit: "VND" },
];
const typesOf = (input: Json) => toEditFields(input, ARGUMENTS)?.map(({ type }) => type);
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

describe("answers to questions", () => {
  const one: Question = {
    id: "q1",
    text: "When?",
    options: [
      { id: "a", label: "Now" },
      { id: "b", label: "Later" },
    ],
    multiple: false,
    free_text: false,
  };
  const many: Question = { ...one, id: "q2", multiple: true, free_text: true };

  test("a single choice replaces the previous one; multiple choices can be removed again", () => {
    let drafts = toggleOption(toggleOption(new Map(), one, "a"), one, "b");
    expect(toAnswers([one], drafts)).toEqual([{ question: "q1", selected: ["b"] }]);
    drafts = toggleOption(toggleOption(toggleOption(drafts, many, "b"), many, "a"), many, "b");
    expect(toAnswers([many], drafts)).toEqual([{ question: "q2", selected: ["a"] }]);
  });

  test("every question needs a choice or a text that is not blank", () => {
    expect(toAnswers([one, many], toggleOption(new Map(), one, "a"))).toBe(null);
    expect(toAnswers([many], setText(new Map(), many, "  "))).toBe(null);
    expect(toAnswers([many], setText(new Map(), many, " ok "))).toEqual([
      { question: "q2", selected: [], text: "ok" },
    ]);
    expect(toAnswers([one], setText(new Map(), one, "not offered"))).toBe(null);
  });
});

describe("U05: edited arguments", () => {
  test("stay the same if the user changes nothing, whatever their values", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1, maxKeys: 10 }), (value) => {
        const input = JSON.parse(JSON.stringify(value)) as Record<string, never>;
        const fields = toEditFields(input);
        expect(fields?.every((one) => findFieldProblem(one) === null)).toBe(true);
        expect(JSON.stringify(toInput(fields ?? []))).toBe(JSON.stringify(input));
      }),
    );
  });

  test("keep their type, and report text that doesn't fit it", () => {
    const number = { name: "n", type: "number", text: "1.5" } as const;
    expect(toInput([number])).toEqual({ n: 1.5 });
    expect(findFieldProblem({ ...number, text: "1,5" })).toBe("not_a_number");
    expect(findFieldProblem({ ...number, text: " " })).toBe("not_a_number");
    expect(findFieldProblem({ name: "j", type: "json", text: "[1," })).toBe("not_json");
    expect(toEditFields([1])).toBe(null);
    expect(parseObject("[1]")).toBe(null);
    expect(parseObject('{"a":1}')).toEqual({ a: 1 });
  });

  test("have the input that the schema of the tool states, if it can show the value", () => {
    expect(typesOf({ until: "2026-04-30", side: "buy", price: 1 })).toEqual(["date", "select", "number"]);
    expect(typesOf({ until: "soon", side: "hold", price: "1" })).toEqual(["text", "text", "text"]);
    expect(typesOf({ until: null, side: ["buy"], price: true })).toEqual(["json", "json", "boolean"]);
  });

  test("stay the same if the user changes nothing, whatever the schema states", () => {
    const types = fc.constantFrom("text", "number", "boolean", "date", "select");
    fc.assert(
      fc.property(fc.jsonValue(), types, (value, type) => {
        const input = { a: JSON.parse(JSON.stringify(value)) as Json };
        const fields = toEditFields(input, [{ name: "a", type, options: [{ value: "", label: "None" }] }]);
        expect(JSON.stringify(toInput(fields ?? []))).toBe(JSON.stringify(input));
      }),
    );
  });

  test("report a date that doesn't exist, and a missing choice", () => {
    const date = { name: "d", type: "date", text: "2026-02-30" } as const;
    expect(findFieldProblem(date)).toBe("not_a_date");
    expect(findFieldProblem({ ...date, text: "" })).toBe("required");
    expect(findFieldProblem({ ...date, text: "2026-02-28" })).toBe(null);
    expect(findFieldProblem({ name: "s", type: "select", text: "" })).toBe("required");
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
