/** Tests the adapter for NewebPay: the form of the checkout, and notifications that are authentic or not. */
import { newebPay, type NewebPayOptions } from "@turnstream/payments/newebpay";
import { type PaymentErrorCode, type ProviderReport } from "@turnstream/payments";
import { describe, expect, test } from "vitest";
import { KEYS, NOW, opensslDecrypt, opensslEncrypt, opensslSign, ORDER } from "./newebpay-keys.ts";

const { signal } = new AbortController();
const OPTIONS = { ...KEYS, now: () => NOW };
const provider = newebPay(OPTIONS);

const RESULT = {
  MerchantID: KEYS.merchantId,
  Amt: ORDER.amount,
  TradeNo: "26111620000000001",
  MerchantOrderNo: ORDER.orderNo,
  PaymentType: "CREDIT",
  PayTime: "2026-11-16 20:00:01",
};
type Fields = Record<string, string>;

function notify(result: object = RESULT, status = "SUCCESS"): Fields {
  const tradeInfo = opensslEncrypt(JSON.stringify({ Status: status, Message: "授權", Result: result }));
  return {
    Status: status,
    MerchantID: KEYS.merchantId,
    Version: "2.0",
    TradeInfo: tradeInfo,
    TradeSha: opensslSign(tradeInfo),
  };
}

function read(fields: Fields | string | Uint8Array): ProviderReport | null {
  const body =
    fields instanceof Uint8Array
      ? fields
      : Buffer.from(typeof fields === "string" ? fields : new URLSearchParams(fields).toString());
  return provider.readNotification({ headers: new Map(), body });
}

function codeOf(run: () => unknown): PaymentErrorCode | "accepted" {
  try {
    run();
    return "accepted";
  } catch (error) {
    return (error as { code: PaymentErrorCode }).code;
  }
}

/** Returns the fields that a checkout encrypts. */
async function readTradeInfo(options: NewebPayOptions, order = ORDER): Promise<URLSearchParams> {
  const { step } = await newebPay(options).checkout(order, { signal });
  return new URLSearchParams(opensslDecrypt(step.type === "form" ? (step.fields["TradeInfo"] ?? "") : ""));
}

async function readLimits(expiresIn: number | null): Promise<(string | null)[]> {
  const expiresAt = expiresIn === null ? null : NOW + expiresIn;
  const fields = await readTradeInfo(OPTIONS, { ...ORDER, expiresAt });
  return [fields.get("TradeLimit"), fields.get("ExpireDate")];
}

describe("checkout", () => {
  test("S08: posts a form that openssl can decrypt and whose signature is right", async () => {
    const { step, providerRef } = await provider.checkout(ORDER, { signal });
    if (step.type !== "form") throw new Error("not a form");
    expect(step.action).toBe("https://core.newebpay.com/MPG/mpg_gateway");
    expect(provider.formOrigin).toBe("https://core.newebpay.com");
    expect(providerRef).toBe(null);
    const { TradeInfo = "", TradeSha, ...rest } = step.fields;
    expect(rest).toEqual({ MerchantID: KEYS.merchantId, Version: "2.0" });
    expect(TradeSha).toBe(opensslSign(TradeInfo));
    expect(Object.fromEntries(new URLSearchParams(opensslDecrypt(TradeInfo)))).toEqual({
      MerchantID: KEYS.merchantId,
      RespondType: "JSON",
      TimeStamp: String(NOW / 1_000),
      Version: "2.0",
      LangType: "zh-tw",
      MerchantOrderNo: ORDER.orderNo,
      Amt: "1200",
      ItemDesc: "Consultation fee",
      ReturnURL: ORDER.returnUrl,
      NotifyURL: ORDER.notifyUrl,
      ClientBackURL: ORDER.returnUrl,
      ExpireDate: "20261116",
    });
  });

  test("limits the page to the time that is left, in the last 15 minutes, and payment codes to the day in Taipei", async () => {
    expect(await readLimits(null)).toEqual([null, null]);
    expect(await readLimits(901_000)).toEqual([null, "20261116"]);
    expect(await readLimits(900_000)).toEqual(["900", "20261116"]);
    expect(await readLimits(5_000)).toEqual(["60", "20261116"]);
    expect(await readLimits(4 * 3_600_000)).toEqual([null, "20261117"]);
  });

  test("offers the chosen ways to pay, in the version and language that are asked for", async () => {
    const fields = await readTradeInfo(
      { ...OPTIONS, methods: ["CREDIT", "VACC"], version: "2.3" },
      { ...ORDER, locale: "vi", description: "'<漢>\n".repeat(40) },
    );
    expect([fields.get("CREDIT"), fields.get("VACC"), fields.get("Version")]).toEqual(["1", "1", "2.3"]);
    expect(fields.get("LangType")).toBe("en");
    expect(fields.get("ItemDesc")).toBe("漢 ".repeat(25));
  });

  test("charges only whole New Taiwan dollars", async () => {
    expect(provider.checkMoney({ amount: 1, currency: "TWD" })).toBe(null);
    for (const money of [
      { amount: 1_200, currency: "USD" },
      { amount: 1_200, currency: "twd" },
      { amount: 0, currency: "TWD" },
      { amount: -5, currency: "TWD" },
      { amount: 1.5, currency: "TWD" },
      { amount: 10_000_000_000, currency: "TWD" },
    ]) {
      expect(provider.checkMoney(money)).toMatch(/got/);
      await expect(provider.checkout({ ...ORDER, ...money }, { signal })).rejects.toMatchObject({
        code: "REFUSED",
      });
    }
  });

  test("refuses invalid options without quoting a secret", () => {
    for (const wrong of [
      { merchantId: "MS 1" },
      { hashKey: `${KEYS.hashKey}x` },
      { hashIv: "short" },
      { name: "New Pay" },
      { url: "ftp://example.com" },
      { methods: ["CREDIT=1"] },
    ]) {
      const make = () => newebPay({ ...KEYS, ...wrong });
      expect(make).toThrow(TypeError);
      expect(make).not.toThrow(KEYS.hashKey);
    }
  });
});

describe("notification", () => {
  test("S08: a payment that openssl encrypted and signed is reported", () => {
    expect(read(notify())).toEqual({
      orderNo: ORDER.orderNo,
      status: "succeeded",
      paid: { amount: 1_200, currency: "TWD" },
      providerRef: RESULT.TradeNo,
      event: `${ORDER.orderNo}:${RESULT.TradeNo}:succeeded:1200`,
      reason: null,
    });
    expect(read(notify({ ...RESULT, Amt: "1200" }))?.paid).toEqual({ amount: 1_200, currency: "TWD" });
  });

  test("a failed payment is reported with NewebPay's code", () => {
    expect(read(notify({ ...RESULT, PayTime: "" }, "MPG03009"))).toMatchObject({
      status: "failed",
      paid: null,
      reason: "MPG03009 授權",
    });
    const { MerchantID, MerchantOrderNo } = RESULT;
    expect(read(notify({ MerchantID, MerchantOrderNo }, "MPG03009"))).toMatchObject({
      status: "failed",
      providerRef: null,
    });
  });

  test("a payment code that was issued is not a payment", () => {
    const { PayTime: _, ...unpaid } = RESULT;
    for (const result of [unpaid, { ...unpaid, PayTime: "" }, { ...unpaid, PayTime: "0000-00-00 00:00:00" }])
      expect(read(notify(result))).toMatchObject({ status: "processing", paid: null });
  });

  test("S08: every byte of TradeInfo and TradeSha that is changed makes it not authentic", () => {
    const fields = notify();
    let changed = 0;
    for (const name of ["TradeInfo", "TradeSha"] as const) {
      const text = fields[name] ?? "";
      for (let at = 0; at < text.length; at++) {
        for (const bit of [0x01, 0x20]) {
          const byte = String.fromCharCode(text.charCodeAt(at) ^ bit);
          const forged = { ...fields, [name]: text.slice(0, at) + byte + text.slice(at + 1) };
          expect(codeOf(() => read(forged))).toBe("NOT_AUTHENTIC");
          changed += 1;
        }
        expect(codeOf(() => read({ ...fields, [name]: text.slice(0, at) + text.slice(at + 1) }))).toBe(
          "NOT_AUTHENTIC",
        );
      }
    }
    expect(changed).toBeGreaterThan(1_000);
    expect(codeOf(() => read(fields))).toBe("accepted");
  });

  test("S08: every byte of the raw body that is changed is refused, or is not read", () => {
    const fields = notify();
    const body = Buffer.from(new URLSearchParams(fields).toString());
    const original = read(body);
    const version = body.indexOf("Version=");
    let refused = 0;
    for (let at = 0; at < body.length; at++) {
      const forged = Buffer.from(body);
      forged[at] = (body[at] ?? 0) ^ 0x01;
      const code = codeOf(() => read(forged));
      if (code !== "accepted") refused += 1;
      else {
        // Only the version of the message is neither signed nor read.
        expect(at).toBeGreaterThanOrEqual(version - 1);
        expect(at).toBeLessThan(version + "Version=2.0".length);
        expect(read(forged)).toEqual(original);
      }
    }
    expect(refused).toBeGreaterThan(body.length - 20);
  });

  test("S08: content that another key signed is not authentic", async () => {
    const thief = newebPay({ ...KEYS, hashKey: "0".repeat(32) });
    const { step } = await thief.checkout(ORDER, { signal });
    const stolen = step.type === "form" ? step.fields : {};
    expect(codeOf(() => read({ Status: "SUCCESS", ...stolen }))).toBe("NOT_AUTHENTIC");
    const { TradeSha: _, ...unsigned } = notify();
    expect(codeOf(() => read({ ...unsigned, TradeSha: "" }))).toBe("NOT_AUTHENTIC");
  });

  test("S08: another merchant or status than the signed one is not authentic", () => {
    const fields = notify();
    expect(codeOf(() => read({ ...fields, MerchantID: "MS100200301" }))).toBe("NOT_AUTHENTIC");
    expect(codeOf(() => read(notify({ ...RESULT, MerchantID: "MS100200301" })))).toBe("NOT_AUTHENTIC");
    expect(codeOf(() => read({ ...fields, Status: "MPG03009" }))).toBe("NOT_AUTHENTIC");
    expect(codeOf(() => read({ ...notify(RESULT, "MPG03009"), Status: "SUCCESS" }))).toBe("NOT_AUTHENTIC");
  });

  test("S08: another amount or order is reported as it is signed, so that it can't be mistaken for ours", () => {
    expect(read(notify({ ...RESULT, Amt: 1 }))?.paid).toEqual({ amount: 1, currency: "TWD" });
    expect(read(notify({ ...RESULT, MerchantOrderNo: "TSOTHER" }))?.orderNo).toBe("TSOTHER");
    // NewebPay's messages have no currency, so no field changes it.
    expect(read(notify({ ...RESULT, Currency: "USD", DCC_Currency: "USD" }))?.paid?.currency).toBe("TWD");
    const events = [RESULT, { ...RESULT, Amt: 1 }, { ...RESULT, TradeNo: "2" }].map(
      (r) => read(notify(r))?.event,
    );
    expect(new Set(events).size).toBe(3);
  });

  test("a message that can't be read is malformed", () => {
    const fields = notify();
    const text = new URLSearchParams(fields).toString();
    const sign = (tradeInfo: string): Fields => ({
      ...fields,
      TradeInfo: tradeInfo,
      TradeSha: opensslSign(tradeInfo),
    });
    for (const body of [
      "",
      "{}",
      new Uint8Array([0xff, 0xfe, 0x00]),
      ...["Status", "MerchantID", "TradeInfo", "TradeSha"].flatMap((name) => [
        text.replace(new RegExp(`(^|&)${name}=[^&]*`), ""),
        `${text}&${name}=${fields[name]}`,
        `${name}=x&${text}`,
      ]),
      `${text}&EncryptType=1`,
      sign(""),
      sign("zz"),
      sign("00".repeat(16)),
      sign(opensslEncrypt("not JSON")),
      sign(opensslEncrypt("null")),
      sign(opensslEncrypt('{"Status":"SUCCESS"}')),
      notify([]),
      notify({ ...RESULT, Amt: -1 }),
      notify({ ...RESULT, Amt: 1.5 }),
      notify({ ...RESULT, Amt: "1e3" }),
      notify({ ...RESULT, Amt: null }),
      notify({ ...RESULT, TradeNo: "" }),
      notify({ ...RESULT, TradeNo: "9".repeat(31) }),
      notify({ ...RESULT, MerchantOrderNo: "a'--" }),
      notify({ ...RESULT, MerchantOrderNo: "T".repeat(31) }),
    ]) {
      expect(codeOf(() => read(body))).toBe("MALFORMED");
    }
  });

  test("a body of more than 64 KiB is malformed, even with a valid signature", () => {
    const body = `${new URLSearchParams(notify()).toString()}&x=${"x".repeat(65_536)}`;
    expect(codeOf(() => read(body))).toBe("MALFORMED");
  });

  test("errors contain neither secrets nor content", () => {
    for (const body of [notify({ ...RESULT, Amt: "secret" }), { ...notify(), TradeSha: "x" }, "a=b"]) {
      expect(() => read(body)).toThrow(expect.objectContaining({ name: "PaymentError" }));
      for (const secret of [KEYS.hashKey, KEYS.hashIv, "secret", notify()["TradeSha"] ?? ""])
        expect(() => read(body)).not.toThrow(secret);
    }
  });
});
