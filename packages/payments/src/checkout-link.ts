/**
 * `createCheckoutToken`, `createOrderNo` and the functions beside them make and read the identifiers of a payment that
 * providers and browsers see. Pure, except for the randomness of `Env`.
 *
 * Invariant: both are unguessable. Payments are looked up by the hash of a token, so a lookup compares no secrets. An
 * order number fits every provider: at most 30 characters of A-Z and 0-9.
 */
import { createHash } from "node:crypto";
import type { Env } from "@turnstream/server/internal";

const TOKEN = /^[\w-]{43}$/;
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Returns 32 random bytes as base64url. */
export function createCheckoutToken({ randomBytes }: Pick<Env, "randomBytes">): string {
  return Buffer.from(randomBytes(32)).toString("base64url");
}

/** Returns what payments are looked up by: the SHA-256 of the token in hexadecimal. */
export function hashCheckoutToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** @param publicUrl the public base URL of the gateway */
export function gatewayUrl(publicUrl: string, path: string): string {
  return `${publicUrl.replace(/\/+$/, "")}/api/v1/payments/${path}`;
}

export function checkoutUrl(publicUrl: string, token: string): string {
  return gatewayUrl(publicUrl, `checkout/${token}`);
}

/** Returns the token of a checkout URL, or null if the URL has none. */
export function readCheckoutToken(url: string): string | null {
  const token = url.slice(url.lastIndexOf("/") + 1);
  return TOKEN.test(token) ? token : null;
}

/** Returns `TS` and 24 random characters of base 32 (120 bits). */
export function createOrderNo({ randomBytes }: Pick<Env, "randomBytes">): string {
  let bits = BigInt(`0x${Buffer.from(randomBytes(15)).toString("hex")}`);
  let text = "";
  for (let n = 0; n < 24; n++) {
    text += BASE32[Number(bits & 31n)] ?? "";
    bits >>= 5n;
  }
  return `TS${text}`;
}
