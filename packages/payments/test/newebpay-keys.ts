/**
 * Shared by the tests of NewebPay: keys, an order, and its ciphers. newebpay-cipher.nightly.test.ts compares the ciphers
 * with the command `openssl`.
 */
import { createCipheriv, createDecipheriv, createHash } from "node:crypto";
import type { CheckoutOrder } from "@turnstream/payments";

export const KEYS = {
  merchantId: "MS100200300",
  hashKey: "Hk7f3Wq9Zt1Lm5Xc8Vb2Nd6Rg4Ys0Pj1",
  hashIv: "Iv4t8Qw2Er6Ty0Ui",
} as const;

/** 2026-11-16 12:00 in UTC, 20:00 in Taipei. */
export const NOW = Date.UTC(2026, 10, 16, 12);

export const ORDER: CheckoutOrder = {
  orderNo: "TS7QK2M4XNAB3CDE5FGH6JKL2M",
  description: "Consultation fee",
  amount: 1_200,
  currency: "TWD",
  locale: "zh-TW",
  providerRef: null,
  expiresAt: NOW + 3_600_000,
  returnUrl: "https://chat.example.com/api/v1/payments/return/token",
  notifyUrl: "https://chat.example.com/api/v1/payments/notify/newebpay",
};

function createCipher(isPadded = true) {
  return createCipheriv("aes-256-cbc", KEYS.hashKey, KEYS.hashIv).setAutoPadding(isPadded);
}

export function opensslEncrypt(text: string): string {
  const cipher = createCipher();
  return cipher.update(text, "utf8", "hex") + cipher.final("hex");
}

export function opensslDecrypt(hex: string): string {
  const decipher = createDecipheriv("aes-256-cbc", KEYS.hashKey, KEYS.hashIv);
  return decipher.update(hex, "hex", "utf8") + decipher.final("utf8");
}

/** @param input is encrypted as it is, so it must already have a padding */
export function opensslEncryptPadded(input: Buffer | string): string {
  const cipher = createCipher(false);
  return cipher.update(Buffer.from(input)).toString("hex") + cipher.final("hex");
}

export function opensslDigest(text: string): string {
  return createHash("sha256").update(text).digest("hex").toUpperCase();
}

export function opensslSign(tradeInfo: string): string {
  return opensslDigest(`HashKey=${KEYS.hashKey}&${tradeInfo}&HashIV=${KEYS.hashIv}`);
}
