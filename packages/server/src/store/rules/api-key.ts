/**
 * `generateKey`, `keyIdOf` and `hashKey` create, parse and hash API keys of the form `ts_<id>_<secret>`. Pure.
 *
 * Invariant: the store has only the hash of a key, never the key. Callers compare hashes with `hashesEqual`, in
 * constant time. Another format or hash would invalidate all issued keys.
 */
import { createHash, timingSafeEqual } from "node:crypto";

export const KEY_ID_BYTES = 12;
export const KEY_SECRET_BYTES = 32;

const PATTERN = /^ts_([0-9a-f]{24})_([A-Za-z0-9_-]{43})$/;

/**
 * @param random KEY_ID_BYTES + KEY_SECRET_BYTES unpredictable bytes
 * @returns the whole key as `secret`, to be shown once
 */
export function generateKey(random: Uint8Array) {
  const bytes = Buffer.from(random);
  if (bytes.length !== KEY_ID_BYTES + KEY_SECRET_BYTES) throw new RangeError("`random` must have 44 bytes");
  const id = bytes.subarray(0, KEY_ID_BYTES).toString("hex");
  const secret = `ts_${id}_${bytes.subarray(KEY_ID_BYTES).toString("base64url")}`;
  return { id, secret, hash: hashKey(secret) };
}

/** Returns the id in an untrusted text, or null if the text can't be a key. */
export function keyIdOf(text: unknown): string | null {
  if (typeof text !== "string" || text.length > 100) return null;
  return PATTERN.exec(text)?.[1] ?? null;
}

/** One round is enough: the secret has 256 random bits, so it can't be guessed from a dictionary. */
export function hashKey(secret: string): Uint8Array {
  return createHash("sha256").update(secret).digest();
}

export function hashesEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
