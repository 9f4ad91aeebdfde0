/**
 * `createBlobUrls` signs temporary URLs of blobs, which the gateway puts into the events that it sends. Pure.
 *
 * Invariant: a URL gives access to one blob of one session, for at least `lifeMs`, or until its share closes. The same
 * blob has the same URL for up to half of `lifeMs`, so that browsers can cache it.
 */
import { type BlobOwner, signBlob } from "./blob-token.ts";

export interface BlobUrlOptions {
  /** The URL before the token, such as `https://api.example.com/blobs/`. */
  readonly base: string;
  /** The newest of the secrets that `openBlob` accepts. */
  readonly secret: string;
  readonly now: number;
  /** The minimum validity of a URL. @default 3600000 */
  readonly lifeMs?: number;
}

const LIFE_MS = 60 * 60 * 1_000;

/** Rounds the expiry up to a time step, so that all URLs signed within one step are equal. */
export function blobUrlExpiry(now: number, lifeMs: number = LIFE_MS): number {
  const step = Math.max(1, Math.floor(lifeMs / 2));
  return (Math.floor(now / step) + 1) * step + lifeMs;
}

/**
 * @param owner the session of the blobs, or a share of it for readers without credentials
 * @returns a function that returns the URL of a blob of this session
 */
export function createBlobUrls(
  owner: BlobOwner,
  { base, secret, now, lifeMs = LIFE_MS }: BlobUrlOptions,
): (blob: string) => string {
  const expires = blobUrlExpiry(now, lifeMs);
  return (blob) => `${base}${signBlob({ ...owner, blob, expires }, secret)}`;
}
