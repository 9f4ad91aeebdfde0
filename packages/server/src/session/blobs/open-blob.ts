/**
 * Opens the blob that an address names, and says how it may be served: a blob holds what tools and pages brought along, so
 * a browser must never take it for a page of ours. Serves nothing itself.
 */
import { readBlobToken } from "../../store/rules/blob-token.ts";
import type { Store } from "../../store/store.ts";
import { safeDownloadHeaders } from "./safe-headers.ts";

export const BLOB_ERRORS = {
  BAD_ADDRESS: "This address was not given by us, or was changed. Load the conversation again.",
  EXPIRED: "This address is no longer good. Load the conversation again: it brings a new one.",
  NOT_FOUND: "What was here is no longer kept.",
} as const;

export type BlobErrorCode = keyof typeof BLOB_ERRORS;

export class BlobError extends Error {
  readonly code: BlobErrorCode;

  constructor(code: BlobErrorCode) {
    super(BLOB_ERRORS[code]);
    this.name = "BlobError";
    this.code = code;
  }
}

export interface ServedBlob {
  readonly body: Uint8Array;
  /** For the answer, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** @param secrets those that addresses were signed with, the newest first. Throws a BlobError. */
export async function openBlob(
  { store }: { readonly store: Store },
  token: string,
  { secrets, now }: { readonly secrets: readonly string[]; readonly now: number },
): Promise<ServedBlob> {
  const grant = readBlobToken(token, secrets);
  if (grant === null) throw new BlobError("BAD_ADDRESS");
  if (now >= grant.expires) throw new BlobError("EXPIRED");
  const blob = await store.blobs.get(grant, grant.blob);
  if (blob === null) throw new BlobError("NOT_FOUND");
  const maxAge = Math.floor((grant.expires - now) / 1_000);
  const headers = {
    ...safeDownloadHeaders(blob.mediaType, blob.body.byteLength, blob.name),
    "cross-origin-resource-policy": "cross-origin",
    // Whoever has the address may load it, and only for as long as it is good.
    "cache-control": `private, max-age=${maxAge}, immutable`,
  };
  return { body: blob.body, headers };
}
