/** Shared by the tests of NewebPay: keys, an order, and a second implementation of its ciphers by the command `openssl`. */
import { execFileSync } from "node:child_process";
import type { CheckoutOrder } from "@turnstream/server/payments";

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

const toHex = (text: string): string => Buffer.from(text).toString("hex");

function cipher(input: Buffer | string, ...flags: string[]): Buffer {
  const key = ["-K", toHex(KEYS.hashKey), "-iv", toHex(KEYS.hashIv)];
  return execFileSync("openssl", ["enc", "-aes-256-cbc", ...key, ...flags], { input });
}

export function opensslEncrypt(text: string): string {
  return cipher(text).toString("hex");
}

export function opensslDecrypt(hex: string): string {
  return cipher(Buffer.from(hex, "hex"), "-d").toString("utf8");
}

/** @param input is encrypted as it is, so it must already have a padding */
export function opensslEncryptPadded(input: Buffer | string): string {
  return cipher(input, "-nopad").toString("hex");
}

export function opensslDigest(text: string): string {
  const line = execFileSync("openssl", ["dgst", "-sha256", "-r"], { input: text, encoding: "utf8" });
  return line.slice(0, 64).toUpperCase();
}

export function opensslSign(tradeInfo: string): string {
  return opensslDigest(`HashKey=${KEYS.hashKey}&${tradeInfo}&HashIV=${KEYS.hashIv}`);
}
