/**
 * The text of a share link: the share's id and a signature of it, so that ids can't be tried out.
 * Several secrets may be good at once, to change them without breaking links. Pure; looks nothing up.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

/** So that a signature made for something else with the same secret is none here. */
const PURPOSE = "turnstream share v1\n";

export function signShare(id: string, secret: string): string {
  if (secret === "") throw new RangeError("a share can't be signed with an empty secret: configure one");
  return `${Buffer.from(id).toString("base64url")}.${signature(id, secret).toString("base64url")}`;
}

/** The share's id when one of the secrets signed it; null for anything else. */
export function readShareToken(token: string, secrets: readonly string[]): string | null {
  const match = /^([\w-]{1,1400})[.]([\w-]{43})$/.exec(token);
  const [, name, signed] = match ?? [];
  if (name === undefined || signed === undefined) return null;
  const id = Buffer.from(name, "base64url").toString();
  const given = Buffer.from(signed, "base64url");
  // Other spellings of the same bytes are not our links.
  if (`${Buffer.from(id).toString("base64url")}.${given.toString("base64url")}` !== token) return null;
  let good = false;
  // All of them are tried, so that the time doesn't tell which one it was.
  for (const secret of secrets)
    if (secret !== "" && timingSafeEqual(signature(id, secret), given)) good = true;
  return good ? id : null;
}

function signature(id: string, secret: string): Buffer {
  return createHmac("sha256", secret).update(PURPOSE).update(id).digest();
}
