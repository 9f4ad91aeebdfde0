/**
 * The text of a file, by libraries that read whatever they are given; each is loaded when it is needed, for every file has
 * a thread of its own. Never runs elsewhere.
 */
import { decode, type FileKind } from "./kinds.ts";

export interface Read {
  readonly text: string;
  /** There was more than was wanted. */
  readonly isCut: boolean;
}

export async function toText(
  bytes: Uint8Array,
  { kind }: FileKind,
  charset: string,
  maxChars: number,
): Promise<Read> {
  if (kind === "pdf") return pdfToText(bytes, maxChars);
  if (kind !== "text" && kind !== "html") return { text: "", isCut: false };
  const decoded = decode(bytes, charset);
  const text = kind === "html" ? await htmlToText(decoded) : decoded;
  return { text: text.slice(0, maxChars).replaceAll("\r\n", "\n"), isCut: text.length > maxChars };
}

async function htmlToText(html: string): Promise<string> {
  const { convert } = await import("html-to-text");
  return convert(html, {
    wordwrap: false,
    limits: { maxDepth: 200, maxChildNodes: 100_000, maxInputLength: 30_000_000 },
    selectors: [
      { selector: "img", format: "skip" },
      { selector: "script", format: "skip" },
      { selector: "style", format: "skip" },
      { selector: "a", options: { hideLinkHrefIfSameAsText: true, noAnchorUrl: true } },
      ...["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => ({
        selector,
        options: { uppercase: false },
      })),
      { selector: "table", format: "dataTable", options: { uppercaseHeaderCells: false } },
    ],
  });
}

async function pdfToText(bytes: Uint8Array, maxChars: number): Promise<Read> {
  const { getDocumentProxy } = await import("unpdf");
  const pdf = await getDocumentProxy(bytes);
  let text = "";
  for (let n = 1; n <= pdf.numPages; n++) {
    const { items } = await (await pdf.getPage(n)).getTextContent();
    const lines = items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : "")).join("");
    if (lines.trim() !== "") text += `[Page ${n}]\n${lines.trimEnd()}\n\n`;
    if (text.length > maxChars) return { text: text.slice(0, maxChars), isCut: true };
  }
  return { text, isCut: false };
}
