/**
 * The text of a file, by libraries that read whatever they are given; each is loaded when it is needed, for every file has
 * a thread of its own. Never runs elsewhere.
 */
import type { HtmlText } from "./html-text.ts";
import { decode, type FileKind } from "./kinds.ts";

export interface Read {
  /** "" when it has none. */
  readonly title: string;
  readonly text: string;
  /** There was more than was wanted. */
  readonly isCut: boolean;
}

const NOTHING: Read = { title: "", text: "", isCut: false };

export async function toText(
  bytes: Uint8Array,
  { kind }: FileKind,
  charset: string,
  maxChars: number,
): Promise<Read> {
  if (kind === "pdf") return pdfToText(bytes, maxChars);
  if (kind !== "text" && kind !== "html") return NOTHING;
  const decoded = decode(bytes, charset);
  const { title, text } = kind === "html" ? await htmlToText(decoded) : { title: "", text: decoded };
  return { title, text: text.slice(0, maxChars).replaceAll("\r\n", "\n"), isCut: text.length > maxChars };
}

async function htmlToText(html: string): Promise<HtmlText> {
  const { htmlText } = await import("./html-text.ts");
  return htmlText(html, { links: true });
}

async function pdfToText(bytes: Uint8Array, maxChars: number): Promise<Read> {
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
