/**
 * `signBlob` and `readBlobToken` create and verify a token that grants access to one blob until it expires. Pure; they
 * read no stored data.
 *
 * Invariant: `readBlobToken` parses only texts that one of the secrets signed for this purpose. It does not check
 * `expires`: the caller must.
 */
import type { SessionRef } from "../refs.ts";
import { readSigned, signText } from "./signed-text.ts";

export interface BlobGrant extends SessionRef {
  readonly blob: string;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

const PURPOSE = "blob";

export function signBlob({ tenant, session, blob, expires }: BlobGrant, secret: string): string {
  return signText(JSON.stringify([tenant, session, blob, expires]), PURPOSE, secret);
}

/** Returns the grant if one of the secrets signed it, otherwise null. The caller checks whether it has expired. */
export function readBlobToken(token: string, secrets: readonly string[]): BlobGrant | null {
  const text = readSigned(token, PURPOSE, secrets);
  if (text === null) return null;
  const [tenant, session, blob, expires] = JSON.parse(text) as [string, string, string, number];
  return { tenant, session, blob, expires };
}
