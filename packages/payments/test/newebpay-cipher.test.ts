/** Tests the ciphers and checksums of NewebPay's messages. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  createCheckCode,
  createCheckValue,
  decryptTradeInfo,
  encryptTradeInfo,
  equals,
  isTradeShaValid,
  signTradeInfo,
} from "../src/providers/newebpay-cipher.ts";
import {
  KEYS,
  opensslDecrypt,
  opensslDigest,
  opensslEncrypt,
  opensslEncryptPadded,
  opensslSign,
} from "./newebpay-keys.ts";

const TEXTS = [
  "",
  "MerchantID=MS100200300&Amt=30",
  '{"Status":"SUCCESS","Message":"授權成功"}',
  "x".repeat(15),
  "x".repeat(16),
  "x".repeat(4_000),
];

test.each(TEXTS)("S08: encrypts and signs as openssl does (%#)", (text) => {
  const tradeInfo = encryptTradeInfo(KEYS, text);
  expect(tradeInfo).toBe(opensslEncrypt(text));
  expect(opensslDecrypt(tradeInfo)).toBe(text);
  expect(signTradeInfo(KEYS, tradeInfo)).toBe(opensslSign(tradeInfo));
});

test.each(TEXTS)("decrypts what openssl encrypted, with a padding to 16 or to 32 bytes (%#)", (text) => {
  expect(decryptTradeInfo(KEYS, opensslEncrypt(text))).toBe(text);
  const size = 32 - (Buffer.byteLength(text) % 32);
  expect(decryptTradeInfo(KEYS, opensslEncryptPadded(text + String.fromCharCode(size).repeat(size)))).toBe(
    text,
  );
});

test("the checksums of a query and its answer are those of openssl", () => {
  const order = { amount: 1_200, orderNo: "TS1" };
  expect(createCheckValue(KEYS, order)).toBe(
    opensslDigest(
      `IV=${KEYS.hashIv}&Amt=1200&MerchantID=${KEYS.merchantId}&MerchantOrderNo=TS1&Key=${KEYS.hashKey}`,
    ),
  );
  expect(createCheckCode(KEYS, { ...order, tradeNo: "23092714215835071" })).toBe(
    opensslDigest(
      `HashIV=${KEYS.hashIv}&Amt=1200&MerchantID=${KEYS.merchantId}&MerchantOrderNo=TS1` +
        `&TradeNo=23092714215835071&HashKey=${KEYS.hashKey}`,
    ),
  );
});

test("a checksum has one spelling", () => {
  const tradeInfo = encryptTradeInfo(KEYS, "text");
  const tradeSha = signTradeInfo(KEYS, tradeInfo);
  expect(isTradeShaValid(KEYS, tradeInfo, tradeSha)).toBe(true);
  for (const other of [tradeSha.toLowerCase(), ` ${tradeSha}`, tradeSha.slice(1), "", `${tradeSha}0`])
    expect(isTradeShaValid(KEYS, tradeInfo, other)).toBe(false);
});

test("equals compares like ===, also for texts of different lengths", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (a, b) => {
      expect(equals(a, b)).toBe(a === b);
      expect(equals(a, a)).toBe(true);
    }),
  );
});

test("text that is not a whole ciphertext is no TradeInfo", () => {
  const valid = encryptTradeInfo(KEYS, "text");
  for (const text of ["", "zz", valid.slice(2), `${valid}00`, ` ${valid}`, "g".repeat(32)])
    expect(decryptTradeInfo(KEYS, text)).toBe(null);
});

const padded = (end: string): string => opensslEncryptPadded("x".repeat(16 - end.length) + end);

test("a wrong padding and invalid UTF-8 are no TradeInfo", () => {
  expect(decryptTradeInfo(KEYS, padded("\u0001"))).toBe("x".repeat(15));
  for (const end of ["\u0000", "\u0002", "\u0003\u0002\u0003", "\u0021"])
    expect(decryptTradeInfo(KEYS, padded(end))).toBe(null);
  expect(decryptTradeInfo(KEYS, opensslEncryptPadded(Buffer.alloc(16, 0xff).fill(1, 15)))).toBe(null);
});
