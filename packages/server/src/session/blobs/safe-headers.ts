/**
 * How bytes that others brought may be served: as what browsers show and can't be made to run, or else as a download. Pure.
 */

/** SVG and HTML can be made to run. */
const INLINE: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "image/avif",
]);

/** For the answer, names in lower case. @param name what a download is called */
export function safeDownloadHeaders(
  mediaType: string,
  size: number,
  name = "download",
): Record<string, string> {
  const type = mediaType.split(";")[0]?.trim().toLowerCase() ?? "";
  return {
    "content-type": typeFor(type),
    "content-length": String(size),
    "content-disposition": INLINE.has(type) ? "inline" : `attachment; ${filename(name)}`,
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "referrer-policy": "no-referrer",
  };
}

/** Other types are bytes to a browser; text says which it is, or a browser would guess. */
function typeFor(type: string): string {
  if (INLINE.has(type) || type === "image/svg+xml") return type;
  if (type === "text/plain" || type === "application/json") return `${type}; charset=utf-8`;
  return "application/octet-stream";
}

/** A name of plain letters as it is, any other one encoded: nothing in it ends the header. */
function filename(name: string): string {
  if (/^[\w.-]{1,100}$/.test(name)) return `filename="${name}"`;
  const encoded = encodeURIComponent(Buffer.from(name).toString()).replaceAll(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="download"; filename*=UTF-8''${encoded}`;
}
