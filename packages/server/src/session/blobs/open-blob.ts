/**
 * `openBlob` loads the blob of a signed URL and returns the headers to serve it with, or where to redirect to.
 *
 * Invariant: only a signed token that has not expired gives access, and caches must not keep the blob longer. A token
 * of a share gives access only while the share is open, so a cache must ask each time. A blob contains untrusted
 * content, so a browser must never treat it as a page of ours.
 */
import { hash } from "node:crypto";
import { readBlobToken } from "../../store/rules/blob-token.ts";
import type { Store } from "../../store/store.ts";
import { defineErrors } from "../../util/errors.ts";
import { redirectToObject } from "./redirect-to-object.ts";
import { safeDownloadHeaders } from "./safe-headers.ts";

const BLOB_ERRORS = {
  BAD_ADDRESS: "This URL was not issued by this server, or was changed. Load the conversation again.",
  EXPIRED: "This URL has expired. Load the conversation again to get a new one.",
  NOT_FOUND: "This file no longer exists.",
} as const;

export type BlobErrorCode = keyof typeof BLOB_ERRORS;

export class BlobError extends defineErrors("BlobError", BLOB_ERRORS, (_code, _what, meaning) => meaning) {
  constructor(code: BlobErrorCode) {
    super(code, "");
  }
}

/** Headers have names in lower case. */
export type ServedBlob =
  | { readonly redirect: Readonly<Record<string, string>> }
  | {
      /** SHA-256 of the content in base64. */
      readonly sha256: string;
      readonly headers: Readonly<Record<string, string>>;
      /** @throws BlobError if the blob was erased meanwhile */
      read(): Promise<Uint8Array>;
    };

export interface OpenBlobOptions {
  /** Accepted signing secrets, newest first. */
  readonly secrets: readonly string[];
  readonly now: number;
  /** False for a request that can't follow a redirect to the object storage. @default true */
  readonly mayRedirect?: boolean;
}

/** @throws BlobError */
export async function openBlob(
  { store }: { readonly store: Store },
  token: string,
  { secrets, now, mayRedirect = true }: OpenBlobOptions,
): Promise<ServedBlob> {
  const grant = readBlobToken(token, secrets);
  if (grant === null) throw new BlobError("BAD_ADDRESS");
  if (now >= grant.expires) throw new BlobError("EXPIRED");
  const isShared = "share" in grant;
  const owner = isShared ? await store.shares.find(grant.share) : grant;
  const found = owner === null ? null : await store.blobs.find(owner, grant.blob);
  if (owner === null || found === null) throw new BlobError("NOT_FOUND");
  const { mediaType, size, name, body, object } = found;
  const maxAge = Math.floor((grant.expires - now) / 1_000);
  const headers = {
    ...safeDownloadHeaders(mediaType, size, name),
    "cross-origin-resource-policy": "cross-origin",
    // The cache must not keep a blob longer than its URL is valid.
    "cache-control": isShared ? "private, no-cache" : `private, max-age=${maxAge}, immutable`,
  };
  const key = mayRedirect && object !== null ? object.key : null;
  const redirect = await redirectToObject(store, key, headers, isShared ? null : maxAge);
  if (redirect !== null) return { redirect };
  return {
    // Each URL of a blob differs, but its content does not change.
    sha256: object?.sha256 ?? hash("sha256", body ?? "", "base64"),
    headers,
    async read() {
      const bytes = body ?? (await store.blobs.get(owner, grant.blob))?.body;
      if (bytes === undefined) throw new BlobError("NOT_FOUND");
      return bytes;
    },
  };
}
