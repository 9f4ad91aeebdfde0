/** `detectImageType` recognizes the images that all vision models accept: PNG, JPEG, GIF and WebP. Pure. */

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
