/** The text of a share link: the share's id, signed, so that ids can't be tried out. Pure; looks nothing up. */
import { readSigned, signText } from "./signed-text.ts";

const PURPOSE = "share";

export function signShare(id: string, secret: string): string {
  return signText(id, PURPOSE, secret);
}

/** The share's id when one of the secrets signed it; null for anything else. */
export function readShareToken(token: string, secrets: readonly string[]): string | null {
  return readSigned(token, PURPOSE, secrets);
}
