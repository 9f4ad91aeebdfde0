/**
 * `openBlob` loads the blob of a signed URL and returns the headers to serve it with.
 *
 * Invariant: only a signed token that has not expired gives access, and caches must not keep the blob longer. A token of
 * a share gives access only while the share is open, so a cache must ask each time. A blob contains untrusted content,
 * so a browser must never treat it as a page of ours.
 */
import { readBlobToken } from "../../store/rules/blob-token.ts";
import type { Store } from "../../store/store.ts";
import { safeDownloadHeaders } from "./safe-headers.ts";

export const BLOB_ERRORS = {
  BAD_ADDRESS: "This URL was not issued by this server, or was changed. Load the conversation again.",
  EXPIRED: "This URL has expired. Load the conversation again to get a new one.",
  NOT_FOUND: "This file no longer exists.",
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
  /** Response headers, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * @param secrets accepted signing secrets, newest first
 * @throws BlobError
 */
export async function openBlob(
  { store }: { readonly store: Store },
  token: string,
  { secrets, now }: { readonly secrets: readonly string[]; readonly now: number },
): Promise<ServedBlob> {
  const grant = readBlobToken(token, secrets);
  if (grant === null) throw new BlobError("BAD_ADDRESS");
  if (now >= grant.expires) throw new BlobError("EXPIRED");
  const isShared = "share" in grant;
  const owner = isShared ? await store.shares.find(grant.share) : grant;
  const blob = owner === null ? null : await store.blobs.get(owner, grant.blob);
  if (blob === null) throw new BlobError("NOT_FOUND");
  const maxAge = Math.floor((grant.expires - now) / 1_000);
  const headers = {
    ...safeDownloadHeaders(blob.mediaType, blob.body.byteLength, blob.name),
    "cross-origin-resource-policy": "cross-origin",
    // The cache must not keep a blob longer than its URL is valid.
    "cache-control": isShared ? "private, no-cache" : `private, max-age=${maxAge}, immutable`,
  };
  return { body: blob.body, headers };
}
