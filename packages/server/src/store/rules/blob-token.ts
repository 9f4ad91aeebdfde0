/**
 * The text that lets whoever has it load one blob for a while: which blob of which session, and until when, signed. Pure;
 * looks nothing up.
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

/** What one of the secrets signed; null for anything else. Whether it has expired is for the caller to say. */
export function readBlobToken(token: string, secrets: readonly string[]): BlobGrant | null {
  const text = readSigned(token, PURPOSE, secrets);
  if (text === null) return null;
  const [tenant, session, blob, expires] = JSON.parse(text) as [string, string, string, number];
  return { tenant, session, blob, expires };
}
