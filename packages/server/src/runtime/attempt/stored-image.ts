/**
 * `describeImage` returns the record of an image that a model can see, and `decodeDataUrl` the bytes of a data URL.
 * Pure.
 *
 * Invariant: the bytes decide about the type, because a provider refuses a request whose image is not of its declared
 * type. Only types that all vision models accept are described: PNG, JPEG, GIF and WebP.
 */
import type { StoredImage } from "../../session/history/model-content.ts";

const DATA_URL = /^data:[^,]*;base64,/;

/** Returns null for data that is not an image of a supported type. @param url a stable URL of the bytes */
export function describeImage(url: string, bytes: Uint8Array): StoredImage | null {
  const mediaType = detectImageType(bytes);
  return mediaType === null ? null : { url, mediaType, size: bytes.byteLength };
}

/** Returns null for any other URL. */
export function decodeDataUrl(url: string): Uint8Array | null {
  const start = DATA_URL.exec(url)?.[0];
  return start === undefined ? null : Buffer.from(url.slice(start.length), "base64");
}

const SIGNATURES: readonly (readonly [mediaType: string, at: number, bytes: string])[] = [
  ["image/png", 0, "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", 0, "\xff\xd8\xff"],
  ["image/gif", 0, "GIF87a"],
  ["image/gif", 0, "GIF89a"],
  ["image/webp", 8, "WEBP"],
];

export const SEEN_TYPES: readonly string[] = [...new Set(SIGNATURES.map(([mediaType]) => mediaType))];

/** Returns the media type by the first bytes, or null if it is not supported. */
export function detectImageType(bytes: Uint8Array): string | null {
  const start = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  const found = SIGNATURES.find(([, at, signature]) => start.startsWith(signature, at));
  return found?.[0] ?? null;
}
