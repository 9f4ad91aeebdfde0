/**
 * `describeImage` returns the record of an image that a model can see, and `decodeDataUrl` the bytes of a data URL.
 * Pure.
 *
 * Invariant: the bytes decide about the type, because a provider refuses a request whose image is not of its declared
 * type.
 */
import type { StoredImage } from "../../session/history/model-content.ts";
import { detectImageType } from "../../text-extraction/image-type.ts";

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
