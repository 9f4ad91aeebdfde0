/** Compares the ciphers and checksums of NewebPay's messages with the command `openssl`. */
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { encryptTradeInfo, signTradeInfo } from "../src/providers/newebpay-cipher.ts";
import { KEYS } from "./newebpay-keys.ts";

const toHex = (text: string): string => Buffer.from(text).toString("hex");

test.each([
  "",
  '{"Status":"SUCCESS","Message":"授權成功"}',
  "x".repeat(15),
  "x".repeat(16),
  "x".repeat(4_000),
])("encrypts and signs as the command does (%#)", (text) => {
  const key = ["-K", toHex(KEYS.hashKey), "-iv", toHex(KEYS.hashIv)];
  const tradeInfo = execFileSync("openssl", ["enc", "-aes-256-cbc", ...key], { input: text }).toString("hex");
  expect(encryptTradeInfo(KEYS, text)).toBe(tradeInfo);
  const signed = `HashKey=${KEYS.hashKey}&${tradeInfo}&HashIV=${KEYS.hashIv}`;
  const digest = execFileSync("openssl", ["dgst", "-sha256", "-r"], { input: signed, encoding: "utf8" });
  expect(signTradeInfo(KEYS, tradeInfo)).toBe(digest.slice(0, 64).toUpperCase());
});
