/**
 * `detectFileKind` determines the kind of a file from its bytes, and `decode` decodes its text. Pure.
 * Invariant: a declared name or media type only selects between kinds of text, because the sender controls it. SVG is
 * text and never an image. Only the first 4 KiB decide about the kind. `decode` never throws.
 */

type Kind = "text" | "html" | "pdf" | "image" | "other";

export interface FileKind {
  readonly kind: Kind;
  readonly mediaType: string;
}

export interface DeclaredType {
  readonly name: string;
  /** The media type that the sender declared, or "". */
  readonly mediaType: string;
}

const TEXT_TYPES: Readonly<Record<string, string>> = {
  md: "text/markdown",
  markdown: "text/markdown",
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  json: "application/json",
  ndjson: "application/x-ndjson",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  html: "text/html",
  htm: "text/html",
  xhtml: "application/xhtml+xml",
};

const TEXT_NAMES = new Set(Object.values(TEXT_TYPES));
const HTML_TYPES = new Set(["text/html", "application/xhtml+xml"]);
const HTML_START =
  /^\s*(<!doctype\s+html|<(html|head|body|title|meta|script|style|div|table|article|p|h1)\b)/i;
const LOOKED_AT = 4_096;
const PDF = "application/pdf";

/** @param sniffed the media type by the first bytes, or null if it is unknown, as for text */
export function detectFileKind(bytes: Uint8Array, sniffed: string | null, named: DeclaredType): FileKind {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, LOOKED_AT));
  if (sniffed === PDF || start.startsWith("%PDF")) return { kind: "pdf", mediaType: PDF };
  if (sniffed?.startsWith("image/") === true && sniffed !== "image/svg+xml")
    return { kind: "image", mediaType: sniffed };
  const isMarkup = sniffed === null || sniffed === "application/xml" || sniffed === "image/svg+xml";
  if (!isMarkup) return { kind: "other", mediaType: sniffed };
  if (!looksLikeText(bytes)) return { kind: "other", mediaType: "application/octet-stream" };
  if (HTML_START.test(start.replace(/^(<\?xml[^>]*>|<!--[\s\S]*?-->|\s)+/, "")))
    return { kind: "html", mediaType: "text/html" };
  const mediaType = textType(named, sniffed);
  return { kind: HTML_TYPES.has(mediaType) ? "html" : "text", mediaType };
}

function textType({ name, mediaType }: DeclaredType, sniffed: string | null): string {
  if (TEXT_NAMES.has(mediaType)) return mediaType;
  const ending = /[.](\w{1,10})$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return TEXT_TYPES[ending] ?? sniffed ?? "text/plain";
}

/** UTF-16 contains zero bytes. Other text contains none, and few control characters. */
function looksLikeText(bytes: Uint8Array): boolean {
  const start = bytes.subarray(0, LOOKED_AT);
  if (wideCharset(start) !== null) return true;
  let odd = 0;
  for (const byte of start) {
    if (byte === 0) return false;
    if (byte < 32 && ![9, 10, 12, 13, 27].includes(byte)) odd++;
  }
  return odd * 50 <= start.length;
}

/** Returns the charset that a byte order mark names, or null. */
function wideCharset([first, second]: Uint8Array): string | null {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : null;
}

const NAMED_IN_HTML = /<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w:.-]{1,40})/i;

/**
 * Decodes bytes by their byte order mark, the declared charset, the charset in an HTML `meta` element, UTF-8 or
 * windows-1252. The first that decodes without errors is used.
 * @param of total number of bytes. If `bytes` is only a part, an incomplete character at its end is dropped.
 */
export function decode(bytes: Uint8Array, charset: string, of: number = bytes.byteLength): string {
  const stream = bytes.byteLength < of;
  const wide = wideCharset(bytes);
  if (wide !== null) return new TextDecoder(wide).decode(bytes, { stream });
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, LOOKED_AT));
  for (const name of [charset, NAMED_IN_HTML.exec(start)?.[1] ?? "", "utf-8", "windows-1252"]) {
    const text = name === "" ? null : decodeAs(bytes, name, stream);
    if (text !== null) return text;
  }
  return "";
}

function decodeAs(bytes: Uint8Array, name: string, stream: boolean): string | null {
  try {
    return new TextDecoder(name, { fatal: true }).decode(bytes, { stream });
  } catch {
    return null;
  }
}
