/**
 * `safeDownloadHeaders` returns response headers for untrusted bytes. Pure.
 *
 * Invariant: browsers show only image types that can't run code, and download everything else.
 */

/** Without SVG and HTML, because they can run code. */
const INLINE: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "image/avif",
]);

/** Returns response headers, names in lower case. @param name file name of a download */
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

/** Text types need a charset, or the browser guesses one. Other types are served as plain bytes. */
function typeFor(type: string): string {
  if (INLINE.has(type) || type === "image/svg+xml") return type;
  if (type === "text/plain" || type === "application/json") return `${type}; charset=utf-8`;
  return "application/octet-stream";
}

/** Encodes a name that is not plain ASCII, so that it can't end the header. */
function filename(name: string): string {
  if (/^[\w.-]{1,100}$/.test(name)) return `filename="${name}"`;
  const encoded = encodeURIComponent(Buffer.from(name).toString()).replaceAll(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="download"; filename*=UTF-8''${encoded}`;
}
