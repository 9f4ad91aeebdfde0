/**
 * `toText` extracts the text of a file with third-party parsers.
 * Invariant: it runs only in the worker thread, because a malicious file can crash or block a parser. The text has at
 * most `maxChars` characters; `isCut` reports that there was more. Images and unknown kinds have no text. Parsers are
 * loaded on demand, because every file gets a new thread.
 */
import type { HtmlText } from "./html-text.ts";
import { decode, type FileKind } from "./file-kind.ts";

export interface ExtractedText {
  /** "" if the file has none. */
  readonly title: string;
  readonly text: string;
  /** True if the text is longer than `maxChars`. */
  readonly isCut: boolean;
}

const NOTHING: ExtractedText = { title: "", text: "", isCut: false };

export async function toText(
  bytes: Uint8Array,
  { kind }: FileKind,
  charset: string,
  maxChars: number,
): Promise<ExtractedText> {
  if (kind === "pdf") return pdfToText(bytes, maxChars);
  if (kind !== "text" && kind !== "html") return NOTHING;
  if (kind === "text") return { title: "", ...cut(firstChars(bytes, charset, maxChars), maxChars) };
  const { title, text } = await htmlToText(decode(bytes, charset));
  return { title, ...cut(text, maxChars) };
}

/** No encoding uses more bytes for a character. */
const MAX_CHAR_BYTES = 4;

/**
 * Decodes slightly more than `maxChars`, so that `cut` detects a longer text. The rest of a large file is never
 * decoded.
 */
function firstChars(bytes: Uint8Array, charset: string, maxChars: number): string {
  return decode(bytes.subarray(0, (maxChars + 1) * MAX_CHAR_BYTES), charset, bytes.byteLength);
}

function cut(text: string, maxChars: number): Omit<ExtractedText, "title"> {
  return { text: text.slice(0, maxChars).replaceAll("\r\n", "\n"), isCut: text.length > maxChars };
}

async function htmlToText(html: string): Promise<HtmlText> {
  const { htmlText } = await import("./html-text.ts");
  return htmlText(html, { links: true });
}

async function pdfToText(bytes: Uint8Array, maxChars: number): Promise<ExtractedText> {
  const { getDocumentProxy } = await import("unpdf");
  const pdf = await getDocumentProxy(bytes);
  let text = "";
  for (let n = 1; n <= pdf.numPages; n++) {
    const { items } = await (await pdf.getPage(n)).getTextContent();
    const lines = items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : "")).join("");
    if (lines.trim() !== "") text += `[Page ${n}]\n${lines.trimEnd()}\n\n`;
    if (text.length > maxChars) return { title: "", text: text.slice(0, maxChars), isCut: true };
  }
  return { title: "", text, isCut: false };
}
