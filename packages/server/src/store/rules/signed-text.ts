/**
 * `signText` and `readSigned` sign texts and verify them. The text itself is not encrypted. Pure.
 *
 * Invariant: a signature is valid for one purpose only, and an empty secret is never valid. Several secrets can be
 * valid at once, so that a secret can be rotated without invalidating issued tokens. The comparison takes constant
 * time.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

const TOKEN = /^([\w-]{1,4000})[.]([\w-]{43})$/;

/** @param purpose prevents that a signature made for something else with the same secret is accepted */
export function signText(text: string, purpose: string, secret: string): string {
  if (secret === "") throw new RangeError(`secret must not be empty to sign a ${purpose}: configure one`);
  const name = Buffer.from(text).toString("base64url");
  return `${name}.${signature(name, purpose, secret).toString("base64url")}`;
}

/** Returns the text if one of the secrets signed it for this purpose, otherwise null. */
export function readSigned(token: string, purpose: string, secrets: readonly string[]): string | null {
  const [, name, signed] = TOKEN.exec(token) ?? [];
  if (name === undefined || signed === undefined) return null;
  const given = Buffer.from(signed, "base64url");
  // Refuse other base64 spellings of the same bytes.
  if (given.toString("base64url") !== signed) return null;
  let good = false;
  // Try all secrets, so that the duration doesn't reveal which one matched.
  for (const secret of secrets)
    if (secret !== "" && timingSafeEqual(signature(name, purpose, secret), given)) good = true;
  return good ? Buffer.from(name, "base64url").toString() : null;
}

function signature(name: string, purpose: string, secret: string): Buffer {
  return createHmac("sha256", secret).update(`turnstream ${purpose} v1\n`).update(name).digest();
}
