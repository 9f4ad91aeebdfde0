/**
 * `signShare` and `readShareToken` create and verify the token of a share link: a signed id, so that ids can't be
 * guessed. Pure.
 *
 * Invariant: the token contains only the id. The caller must look up the share, which may be revoked or erased.
 */
import { readSigned, signText } from "./signed-text.ts";

const PURPOSE = "share";

export function signShare(id: string, secret: string): string {
  return signText(id, PURPOSE, secret);
}

/** Returns the share's id if one of the secrets signed it, otherwise null. */
export function readShareToken(token: string, secrets: readonly string[]): string | null {
  return readSigned(token, PURPOSE, secrets);
}
