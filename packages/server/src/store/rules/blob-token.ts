/**
 * The text that lets whoever has it load one blob for a while: which blob of which session, until when, and a signature of
 * all that. Several secrets may be good at once, to change them without breaking addresses. Pure; looks nothing up.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Ref } from "../refs.ts";

export interface BlobGrant extends Ref {
  readonly blob: string;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

/** So that a signature made for something else with the same secret is none here. */
const PURPOSE = "turnstream blob v1\n";
const TOKEN = /^([\w-]{1,4000})[.]([\w-]{43})$/;

export function signBlob({ tenant, session, blob, expires }: BlobGrant, secret: string): string {
  if (secret === "") throw new RangeError("a blob can't be signed with an empty secret: configure one");
  const name = Buffer.from(JSON.stringify([tenant, session, blob, expires])).toString("base64url");
  return `${name}.${signature(name, secret).toString("base64url")}`;
}

/** What one of the secrets signed; null for anything else. Whether it has expired is for the caller to say. */
export function readBlobToken(token: string, secrets: readonly string[]): BlobGrant | null {
  const [, name, signed] = TOKEN.exec(token) ?? [];
  if (name === undefined || signed === undefined) return null;
  const given = Buffer.from(signed, "base64url");
  // Other spellings of the same bytes are not our tokens.
  if (given.toString("base64url") !== signed) return null;
  let good = false;
  // All of them are tried, so that the time doesn't tell which one it was.
  for (const secret of secrets)
    if (secret !== "" && timingSafeEqual(signature(name, secret), given)) good = true;
  if (!good) return null;
  const [tenant, session, blob, expires] = JSON.parse(Buffer.from(name, "base64url").toString()) as [
    string,
    string,
    string,
    number,
  ];
  return { tenant, session, blob, expires };
}

function signature(name: string, secret: string): Buffer {
  return createHmac("sha256", secret).update(PURPOSE).update(name).digest();
}
