/**
 * `signBlob` and `readBlobToken` create and verify a token that grants access to one blob until it expires, through its
 * session or through a share. Pure; they read no stored data.
 *
 * Invariant: `readBlobToken` parses only texts that one of the secrets signed for this purpose. It does not check
 * `expires`, nor whether the share is open: the caller must. A token of a share contains neither tenant nor session.
 */
import type { SessionRef } from "../../util/refs.ts";
import { readSigned, signText } from "../../store/rules/signed-text.ts";

/** Whose blobs a token gives access to. */
export type BlobOwner = SessionRef | { readonly share: string };

export type BlobGrant = BlobOwner & {
  readonly blob: string;
  /** Milliseconds since 1970. */
  readonly expires: number;
};

const PURPOSE = "blob";
const SHARE_PURPOSE = "share blob";

export function signBlob(grant: BlobGrant, secret: string): string {
  const { blob, expires } = grant;
  if ("share" in grant) return signText(JSON.stringify([grant.share, blob, expires]), SHARE_PURPOSE, secret);
  return signText(JSON.stringify([grant.tenant, grant.session, blob, expires]), PURPOSE, secret);
}

/** Returns the grant if one of the secrets signed it, otherwise null. The caller checks whether it has expired. */
export function readBlobToken(token: string, secrets: readonly string[]): BlobGrant | null {
  const text = readSigned(token, PURPOSE, secrets);
  if (text !== null) {
    const [tenant, session, blob, expires] = JSON.parse(text) as [string, string, string, number];
    return { tenant, session, blob, expires };
  }
  const shareText = readSigned(token, SHARE_PURPOSE, secrets);
  if (shareText === null) return null;
  const [share, blob, expires] = JSON.parse(shareText) as [string, string, number];
  return { share, blob, expires };
}
