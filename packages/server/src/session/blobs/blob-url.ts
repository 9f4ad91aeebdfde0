/**
 * Addresses of blobs that can be loaded for a while, for whoever delivers events: see `withAddresses` of the protocol. The
 * same address is given for some time, so that browsers know what they have. Pure.
 */
import { signBlob } from "../../store/rules/blob-token.ts";
import type { SessionRef } from "../../store/refs.ts";

export interface BlobUrlOptions {
  /** What stands before the token, such as `https://api.example.com/blobs/`. */
  readonly base: string;
  /** The newest of those that `openBlob` takes. */
  readonly secret: string;
  readonly now: number;
  /** How long an address is good at least. */
  readonly lifeMs?: number;
}

const LIFE_MS = 60 * 60 * 1_000;

/** Every address that is given within one step of time ends at the same moment, and so is the same. */
export function blobUrlExpiry(now: number, lifeMs: number = LIFE_MS): number {
  const step = Math.max(1, Math.floor(lifeMs / 2));
  return (Math.floor(now / step) + 1) * step + lifeMs;
}

/** @returns the address of a blob of this session */
export function createBlobUrls(
  { tenant, session }: SessionRef,
  { base, secret, now, lifeMs = LIFE_MS }: BlobUrlOptions,
): (blob: string) => string {
  const expires = blobUrlExpiry(now, lifeMs);
  return (blob) => `${base}${signBlob({ tenant, session, blob, expires }, secret)}`;
}
