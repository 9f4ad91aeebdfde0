/** Tests the digits of currencies and the format of amounts. */
import { describe, expect, test } from "vitest";
import { currencyDigits, formatMoney } from "@turnstream/protocol";

const plain = (text: string): string => text.replaceAll("\u00a0", " ");

describe("U07: the amount of a payment", () => {
  test("counts the smallest unit that payment providers accept", () => {
    expect(["TWD", "jpy", "USD", "KWD"].map(currencyDigits)).toEqual([0, 0, 2, 3]);
    // Codes that a log can contain, although no provider accepts them.
    expect(["", "<b>", "constructor", "__proto__"].map(currencyDigits)).toEqual([2, 2, 2, 2]);
  });

  test("is formatted for the locale", () => {
    expect(plain(formatMoney("en", 1200, "TWD"))).toBe("NT$1,200");
    expect(plain(formatMoney("zh-TW", 1200, "TWD"))).toBe("$1,200");
    expect(plain(formatMoney("en", 1250, "USD"))).toBe("$12.50");
    expect(plain(formatMoney("vi", 83_000, "VND"))).toBe("83.000 ₫");
    expect(plain(formatMoney("en", 1500, "KWD"))).toBe("KWD 1.500");
    expect(plain(formatMoney("zh-CN", 100, "jpy"))).toBe("JP¥100");
    expect(plain(formatMoney("en", 500, "<b>"))).toBe("5.00 <b>");
  });
});
