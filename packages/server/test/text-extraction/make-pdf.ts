/** Builds small PDFs for tests. */
import { deflateSync } from "node:zlib";

/** @param pages the text of each page, one line per entry */
export function makePdf(pages: readonly (readonly string[])[]): Uint8Array<ArrayBuffer> {
  const contents = pages.map((lines) => {
    const shown = lines.map((line) => `(${line.replaceAll(/[\\()]/g, "\\$&")}) Tj T*`).join(" ");
    return Buffer.from(`BT /F1 12 Tf 14 TL 72 720 Td ${shown} ET`);
  });
  return pdfWith(contents.map((body) => ({ head: "", body })));
}

/** A PDF page whose content decompresses to that many bytes. */
export function makePdfBomb(megabytes: number): Uint8Array<ArrayBuffer> {
  const once = deflateSync(Buffer.alloc(megabytes * 1_000_000, " "), { level: 9 });
  const twice = deflateSync(once, { level: 9 });
  return pdfWith([{ head: "/Filter [/FlateDecode /FlateDecode] ", body: twice }]);
}

function pdfWith(
  streams: readonly { readonly head: string; readonly body: Buffer }[],
): Uint8Array<ArrayBuffer> {
  const kids = streams.map((_, n) => `${4 + 2 * n} 0 R`).join(" ");
  const objects: Buffer[] = [
    Buffer.from("<< /Type /Catalog /Pages 2 0 R >>"),
    Buffer.from(`<< /Type /Pages /Kids [${kids}] /Count ${streams.length} >>`),
    Buffer.from("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"),
    ...streams.flatMap(({ head, body }, n) => [
      Buffer.from(
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + 2 * n} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
      ),
      Buffer.concat([
        Buffer.from(`<< ${head}/Length ${body.length} >>\nstream\n`),
        body,
        Buffer.from("\nendstream"),
      ]),
    ]),
  ];
  const parts: Buffer[] = [Buffer.from("%PDF-1.4\n")];
  const offsets: number[] = [];
  let at = 9;
  for (const [n, object] of objects.entries()) {
    offsets.push(at);
    const part = Buffer.concat([Buffer.from(`${n + 1} 0 obj\n`), object, Buffer.from("\nendobj\n")]);
    parts.push(part);
    at += part.length;
  }
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const size = objects.length + 1;
  parts.push(
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${at}\n%%EOF`,
    ),
  );
  return new Uint8Array(Buffer.concat(parts));
}
