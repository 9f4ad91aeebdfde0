/**
 * `formatShareToken` and `isShareToken` create and verify the token of a share link: the id of the share, signed with a
 * key of its own. `readShareId` reads the id. Pure.
 *
 * Invariant: no secret of the gateway is involved, so links stay valid when those are replaced. `readShareId` verifies
 * nothing: the caller must look up the share, which may be revoked or erased, and call `isShareToken`.
 */
import type { Share } from "../ports/access.ts";
import { isId } from "../../util/names.ts";
import { readSigned, signText } from "./signed-text.ts";

const PURPOSE = "share";
const MAX_TOKEN_LENGTH = 1_000;

export const SHARE_KEY_BYTES = 32;

/** @param random SHARE_KEY_BYTES unpredictable bytes */
export function formatShareKey(random: Uint8Array): string {
  return Buffer.from(random).toString("base64url");
}

export function formatShareToken({ id, key }: Pick<Share, "id" | "key">): string {
  return signText(id, PURPOSE, key);
}

/** Returns the id that the token names, or null if it can't be a token. */
export function readShareId(token: string): string | null {
  if (token.length > MAX_TOKEN_LENGTH) return null;
  const id = Buffer.from(token.split(".")[0] ?? "", "base64url").toString();
  return isId(id) ? id : null;
}

/** Compares in constant time. */
export function isShareToken(token: string, { id, key }: Pick<Share, "id" | "key">): boolean {
  return readSigned(token, PURPOSE, [key]) === id;
}
