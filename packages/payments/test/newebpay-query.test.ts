/** Tests how the adapter for NewebPay reads answers to queries: forged, malformed, oversized and silent ones. */
import { newebPay } from "@turnstream/payments/newebpay";
import { type ProviderReport } from "@turnstream/payments";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Handle, type LocalServer, startLocalServer } from "./local-server.ts";
import { KEYS, NOW, opensslDigest, ORDER } from "./newebpay-keys.ts";

const { merchantId, hashKey, hashIv } = KEYS;

let handle: Handle;
let form = new URLSearchParams();
let server: LocalServer;

beforeAll(async () => {
  server = await startLocalServer((body, ...more) => {
    form = new URLSearchParams(body.toString());
    handle(body, ...more);
  });
});
afterAll(() => server.close());
beforeEach(() => {
  handle = (_, response) => response.end();
});

const RESULT = {
  MerchantID: merchantId,
  Amt: ORDER.amount,
  TradeNo: "26111620000000001",
  MerchantOrderNo: ORDER.orderNo,
  TradeStatus: "1",
  BackBalance: "1200",
  BackStatus: "0",
};

/** By content, because each call of `openssl` is a process. */
const checkCodes = new Map<string, string>();

function checkCode(result: typeof RESULT): string {
  const { Amt, MerchantID, MerchantOrderNo, TradeNo } = result;
  const fields = `Amt=${Amt}&MerchantID=${MerchantID}&MerchantOrderNo=${MerchantOrderNo}&TradeNo=${TradeNo}`;
  const code = checkCodes.get(fields) ?? opensslDigest(`HashIV=${hashIv}&${fields}&HashKey=${hashKey}`);
  checkCodes.set(fields, code);
  return code;
}

/** An answer with the right checksum, and then with these changes. */
const answer = (changes: object = {}, forged: object = {}): object => {
  const result = { ...RESULT, ...changes };
  return {
    Status: "SUCCESS",
    Message: "查詢成功",
    Result: { ...result, CheckCode: checkCode(result), ...forged },
  };
};

const ask = (timeoutMs = 5_000, options = {}): Promise<ProviderReport | null> =>
  newebPay({ ...KEYS, url: server.url, now: () => NOW, ...options }).query(ORDER, {
    signal: AbortSignal.timeout(timeoutMs),
  });

const read = (body: unknown): Promise<ProviderReport | null> => {
  handle = (_, response) => response.end(typeof body === "string" ? body : JSON.stringify(body));
  return ask();
};

test("asks with a checksum that openssl computes, too", async () => {
  expect(await read(answer())).toMatchObject({
    status: "succeeded",
    paid: { amount: 1_200, currency: "TWD" },
  });
  expect(Object.fromEntries(form)).toEqual({
    MerchantID: merchantId,
    Version: "1.3",
    RespondType: "JSON",
    TimeStamp: String(NOW / 1_000),
    MerchantOrderNo: ORDER.orderNo,
    Amt: "1200",
    CheckValue: opensslDigest(
      `IV=${hashIv}&Amt=1200&MerchantID=${merchantId}&MerchantOrderNo=${ORDER.orderNo}&Key=${hashKey}`,
    ),
  });
  await ask(5_000, { merchantId: "MS500000001" }).catch(() => {});
  expect(form.get("Gateway")).toBe("Composite");
});

test.each([
  ["0", {}, null],
  ["1", {}, { status: "succeeded", paid: { amount: 1_200 } }],
  ["2", {}, { status: "failed", paid: null }],
  ["3", {}, { status: "failed", paid: null }],
  ["6", {}, { status: "refunded", paid: { amount: 1_200 } }],
  ["1", { BackStatus: "3", BackBalance: "700" }, { status: "refunded", paid: { amount: 500 } }],
  ["1", { BackStatus: 3, BackBalance: 0 }, { status: "refunded", paid: { amount: 1_200 } }],
  ["1", { BackStatus: "1", BackBalance: "700" }, { status: "succeeded", paid: { amount: 1_200 } }],
  ["9", {}, null],
])("TradeStatus %s %o", async (TradeStatus, changes, expected) => {
  const report = await read(answer({ TradeStatus, ...changes }));
  if (expected === null) expect(report).toBe(null);
  else expect(report).toMatchObject(expected);
});

test("S08: an answer whose checksum or order is not right is not authentic", async () => {
  for (const forged of [
    { Amt: 1 },
    { TradeNo: "26111620000000002" },
    { MerchantOrderNo: "TSOTHER" },
    { MerchantID: "MS2" },
    { CheckCode: "" },
    { CheckCode: checkCode(RESULT).toLowerCase() },
    { CheckCode: checkCode({ ...RESULT, Amt: 1 }) },
  ]) {
    await expect(read(answer({}, forged))).rejects.toMatchObject({ code: "NOT_AUTHENTIC" });
  }
  const code = checkCode(RESULT);
  for (let at = 0; at < code.length; at++) {
    const CheckCode = code.slice(0, at) + String.fromCharCode(code.charCodeAt(at) ^ 1) + code.slice(at + 1);
    await expect(read(answer({}, { CheckCode }))).rejects.toMatchObject({ code: "NOT_AUTHENTIC" });
  }
  for (const other of [{ MerchantOrderNo: "TSOTHER" }, { MerchantID: "MS2" }])
    await expect(read(answer(other))).rejects.toMatchObject({ code: "NOT_AUTHENTIC" });
});

test("another amount is reported as it is signed", async () => {
  expect(await read(answer({ Amt: 1 }))).toMatchObject({ paid: { amount: 1, currency: "TWD" } });
});

test("an answer that can't be read is unavailable, and an unknown order has no result", async () => {
  expect(await read({ Status: "TRA10021", Message: "查無交易資料", Result: [] })).toBe(null);
  for (const body of [
    "",
    "<html>",
    "null",
    "[]",
    { Status: "SUCCESS", Message: "", Result: [] },
    { Status: "TRA10071", Message: "locked", Result: [] },
    answer({}, { Amt: "1e3" }),
    answer({}, { TradeStatus: null }),
  ]) {
    await expect(read(body)).rejects.toMatchObject({ name: "PaymentError", code: "UNAVAILABLE" });
  }
  await expect(read({ Status: "TRA10071", Message: "", Result: [] })).rejects.toThrow("TRA10071");
});

test("an answer that is oversized, redirected, an error or late is unavailable", async () => {
  const handlers: Handle[] = [
    (_, response) => response.end(JSON.stringify({ ...answer(), x: "x".repeat(65_536) })),
    (_, response) => response.writeHead(302, { location: `${server.url}/elsewhere` }).end(),
    (_, response) => response.writeHead(500).end(JSON.stringify(answer())),
    (_, response) => response.destroy(),
    (_, response) => response.write('{"Status":'),
    () => {},
  ];
  for (const next of handlers) {
    handle = next;
    await expect(ask(200)).rejects.toMatchObject({ name: "PaymentError", code: "UNAVAILABLE" });
  }
});
