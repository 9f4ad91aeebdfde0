/**
 * `encryptTradeInfo`, `signTradeInfo` and their counterparts are the ciphers and checksums of NewebPay's messages, by
 * section 4.1 of its manual NDNF-1.1.9. Pure.
 *
 * Invariant: checksums are compared in constant time and as exact text, so a checksum has one valid spelling. Callers
 * check the checksum of a message before they decrypt it; otherwise the padding would be an oracle.
 */
import { createCipheriv, createDecipheriv, createHash, timingSafeEqual } from "node:crypto";

export interface NewebPayKeys {
  /** Id of the shop at NewebPay, such as MS127874575. */
  readonly merchantId: string;
  /** Secret of 32 characters. */
  readonly hashKey: string;
  /** Secret of 16 characters. */
  readonly hashIv: string;
}

const CIPHER = "aes-256-cbc";
/** NewebPay's own samples pad to blocks of 32 bytes, its manual to 16. The length of the padding is its last byte. */
const MAX_PADDING = 32;

/** @returns lower-case hex */
export function encryptTradeInfo({ hashKey, hashIv }: NewebPayKeys, text: string): string {
  const cipher = createCipheriv(CIPHER, hashKey, hashIv);
  return cipher.update(text, "utf8", "hex") + cipher.final("hex");
}

/** @returns null if the text is not the hex of whole blocks with a valid padding around UTF-8 */
export function decryptTradeInfo({ hashKey, hashIv }: NewebPayKeys, tradeInfo: string): string | null {
  if (!/^(?:[0-9a-f]{32})+$/i.test(tradeInfo)) return null;
  const decipher = createDecipheriv(CIPHER, hashKey, hashIv).setAutoPadding(false);
  const padded = Buffer.concat([decipher.update(tradeInfo, "hex"), decipher.final()]);
  const size = padded.at(-1) ?? 0;
  if (size < 1 || size > MAX_PADDING || size > padded.length) return null;
  if (padded.subarray(-size).some((byte) => byte !== size)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(padded.subarray(0, -size));
  } catch {
    return null;
  }
}

/** Returns the checksum `TradeSha` of an encrypted `TradeInfo`. */
export function signTradeInfo({ hashKey, hashIv }: NewebPayKeys, tradeInfo: string): string {
  return digest(`HashKey=${hashKey}&${tradeInfo}&HashIV=${hashIv}`);
}

export function isTradeShaValid(keys: NewebPayKeys, tradeInfo: string, tradeSha: string): boolean {
  return equals(signTradeInfo(keys, tradeInfo), tradeSha);
}

export interface CheckedFields {
  readonly amount: number;
  readonly orderNo: string;
}

/** Returns the checksum `CheckValue` of a query. */
export function createCheckValue(keys: NewebPayKeys, { amount, orderNo }: CheckedFields): string {
  const fields = `Amt=${amount}&MerchantID=${keys.merchantId}&MerchantOrderNo=${orderNo}`;
  return digest(`IV=${keys.hashIv}&${fields}&Key=${keys.hashKey}`);
}

/** Returns the checksum `CheckCode` of the answer to a query. It does not cover the state of the order. */
export function createCheckCode(
  keys: NewebPayKeys,
  { amount, orderNo, tradeNo }: CheckedFields & { readonly tradeNo: string },
): string {
  const fields = `Amt=${amount}&MerchantID=${keys.merchantId}&MerchantOrderNo=${orderNo}&TradeNo=${tradeNo}`;
  return digest(`HashIV=${keys.hashIv}&${fields}&HashKey=${keys.hashKey}`);
}

/** Compares in a time that depends on the lengths only. */
export function equals(expected: string, actual: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(actual)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").toUpperCase();
}
