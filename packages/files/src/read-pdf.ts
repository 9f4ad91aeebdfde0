/**
 * `readPdf` extracts the text of a PDF, page by page.
 * Invariant: it runs only in a thread that can be terminated, because a malicious file can crash or block the parser.
 */

export interface PdfText {
  /** At most `maxChars` characters. */
  readonly text: string;
  /** True if the text is longer. */
  readonly isCut: boolean;
}

export async function readPdf(bytes: Uint8Array, maxChars: number): Promise<PdfText> {
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
