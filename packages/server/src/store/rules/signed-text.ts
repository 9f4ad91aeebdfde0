/**
 * A text that we have signed and give away, and how it is known again. A signature holds for one purpose only. Several
 * secrets may be good at once, to change them without breaking what is out there. Pure; looks nothing up.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

const TOKEN = /^([\w-]{1,4000})[.]([\w-]{43})$/;

/** @param purpose so that a signature made for something else with the same secret is none here */
export function signText(text: string, purpose: string, secret: string): string {
  if (secret === "") throw new RangeError(`a ${purpose} can't be signed with an empty secret: configure one`);
  const name = Buffer.from(text).toString("base64url");
  return `${name}.${signature(name, purpose, secret).toString("base64url")}`;
}

/** The text, when one of the secrets signed it for this purpose; null for anything else. */
export function readSigned(token: string, purpose: string, secrets: readonly string[]): string | null {
  const [, name, signed] = TOKEN.exec(token) ?? [];
  if (name === undefined || signed === undefined) return null;
  const given = Buffer.from(signed, "base64url");
  // Other spellings of the same bytes are not our tokens.
  if (given.toString("base64url") !== signed) return null;
  let good = false;
  // All of them are tried, so that the time doesn't tell which one it was.
  for (const secret of secrets)
    if (secret !== "" && timingSafeEqual(signature(name, purpose, secret), given)) good = true;
  return good ? Buffer.from(name, "base64url").toString() : null;
}

function signature(name: string, purpose: string, secret: string): Buffer {
  return createHmac("sha256", secret).update(`turnstream ${purpose} v1\n`).update(name).digest();
}
