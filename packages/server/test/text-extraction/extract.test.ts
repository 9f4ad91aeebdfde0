/** Tests text extraction from valid files and from hostile files. */
import { gzipSync } from "node:zlib";

import fc from "fast-check";
import { expect, test } from "vitest";

import {
  extract,
  ExtractError,
  type ExtractLimits,
  type FileBytes,
} from "../../src/text-extraction/extract.ts";
import { CHUNK_CHARS, chunkText } from "../../src/text-extraction/chunk-text.ts";
import { makePdf, makePdfBomb } from "./make-pdf.ts";

const LIMITS: ExtractLimits = { maxChars: 1_000_000, timeoutMs: 600_000, memoryMb: 128 };
const idle = new AbortController().signal;

function read(
  bytes: Uint8Array | string,
  file: Partial<FileBytes> = {},
  limits: Partial<ExtractLimits> = {},
) {
  const given = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
  const whole = { name: "f", mediaType: "", charset: "", ...file, bytes: new Uint8Array(given) };
  return extract(whole, { ...LIMITS, ...limits }, idle);
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "read",
    (error: unknown) => (error instanceof ExtractError ? error.code : String(error)),
  );
}

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

test("W12: decodes only `maxChars` of a text of 100 MB, up to the last whole character", async () => {
  const bytes = Buffer.alloc(100_000_000, "ữ");
  // There is not enough memory for the whole text.
  const { pieces, isCut, mediaType } = await read(bytes, {}, { maxChars: 1_000_000, memoryMb: 128 });
  expect([mediaType, isCut]).toEqual(["text/plain", true]);
  const text = pieces.join("");
  expect(text.length).toBe(1_000_000);
  expect(text.replaceAll("ữ", "")).toBe("");
  const { isCut: isJustFull } = await read("ữ".repeat(1_000), {}, { maxChars: 1_000 });
  expect(isJustFull).toBe(false);
});

test("W12: extracts the text of each file type and detects the type from the bytes", async () => {
  const cases: [bytes: Uint8Array | string, file: Partial<FileBytes>, type: string, text: string][] = [
    ["plain", { mediaType: "image/png" }, "text/plain", "plain"],
    ["# Title", { name: "notes.md" }, "text/markdown", "# Title"],
    ["a,b\n1,2\n", { mediaType: "text/csv" }, "text/csv", "a,b\n1,2\n"],
    ['{"a":1}', { name: "x.JSON" }, "application/json", '{"a":1}'],
    [
      makePdf([["Quarter 3", "42 (percent)"], ["Page two"]]),
      { mediaType: "text/html" },
      "application/pdf",
      "[Page 1]\nQuarter 3\n42 (percent)\n\n[Page 2]\nPage two\n\n",
    ],
    ["<section>a &amp; b", { mediaType: "text/html" }, "text/html", "a & b"],
    ["<section>a &amp; b", { name: "x.htm" }, "text/html", "a & b"],
    ["<?xml version='1.0'?><r>t</r>", {}, "application/xml", "<?xml version='1.0'?><r>t</r>"],
    ["\ufefftừ đầu", {}, "text/plain", "từ đầu"],
    [Buffer.from("\ufeffchữ", "utf16le"), {}, "text/plain", "chữ"],
    [Buffer.from([0xe9, 0x74, 0xe9]), {}, "text/plain", "été"],
    [Buffer.from([0xa4, 0xa4, 0xa4, 0xe5]), { charset: "big5" }, "text/plain", "中文"],
    ["", {}, "text/plain", ""],
  ];
  for (const [bytes, file, type, text] of cases) {
    const { mediaType, pieces } = await read(bytes, file);
    expect([mediaType, pieces.join("")]).toEqual([type, text]);
  }
});

test("W12: extracts the visible text of a page without scripts and styles", async () => {
  const html = `<!doctype html><html><head><title>T</title><style>p{}</style></head><body><script>alert(1)</script>
    <h1>Giá vàng</h1><p>Hôm nay <a href="https://x.example/a">tăng</a> 2&nbsp;%.</p><img src="x" alt="y">
    <table><tr><th>Ngày</th><th>Giá</th></tr><tr><td>1</td><td>90</td></tr></table></body></html>`;
  const { mediaType, pieces } = await read(html, { mediaType: "application/pdf" });
  const text = pieces.join("");
  expect(mediaType).toBe("text/html");
  expect(text).toContain("Giá vàng");
  expect(text).toContain("https://x.example/a");
  expect(text).toMatch(/Ngày \| Giá\n1 \| 90/);
  expect(text).not.toMatch(/alert|p\{\}|<|alt/);
});

test("reports the kind and type of files that are not text", async () => {
  const zip = Buffer.from("UEsDBBQAAAAAAAAAIQAAAAAAAAAAAAAAAAABAAAAYQ==", "base64");
  const cases: [Uint8Array, string, string][] = [
    [PNG, "image", "image/png"],
    [zip, "other", "application/zip"],
    [gzipSync("x"), "other", "application/gzip"],
    [new Uint8Array([1, 2, 3, 0, 5]), "other", "application/octet-stream"],
  ];
  for (const [bytes, kind, mediaType] of cases)
    expect(await read(bytes, { name: "a.txt", mediaType: "text/plain" })).toMatchObject({
      kind,
      mediaType,
      pieces: [],
    });
});

test("cuts a long text and reports that it is cut", async () => {
  expect(await read("x".repeat(101), {}, { maxChars: 100 })).toMatchObject({
    isCut: true,
    pieces: ["x".repeat(100)],
  });
  expect(await read("x".repeat(100), {}, { maxChars: 100 })).toMatchObject({ isCut: false });
  const { pieces, isCut } = await read(
    makePdf(Array.from({ length: 50 }, () => ["some text"])),
    {},
    { maxChars: 100 },
  );
  expect([pieces.join("").length, isCut]).toEqual([100, true]);
});

test("joined chunks equal the text, none is too long, and none splits a character", () => {
  const unit = fc.constantFrom("a", "\n", "🙂", "đ", "b".repeat(5_000));
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 60 }), (units) => {
      const text = units.join("");
      const pieces = chunkText(text);
      expect(pieces.join("")).toBe(text);
      for (const piece of pieces) {
        expect(piece.length).toBeGreaterThan(0);
        expect(piece.length).toBeLessThanOrEqual(CHUNK_CHARS);
        expect(piece).not.toMatch(/^[\udc00-\udfff]|[\ud800-\udbff]$/);
      }
    }),
  );
});

test("expands no entities, opens no other files, and runs nothing of a file that is of two types", async () => {
  const entities = `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd"><!ENTITY a "${"a".repeat(100)}"><!ENTITY b "&a;&a;&a;">]>`;
  for (const [type, root] of [
    ["application/xml", "x"],
    ["image/svg+xml", "svg"],
    ["text/html", "html"],
  ] as const) {
    const file = `<?xml version="1.0"?>${entities}<${root}>&e; ${"&b;".repeat(1_000)}</${root}>`;
    const { pieces } = await read(file, { name: "a.xml", mediaType: type });
    const text = pieces.join("");
    expect(text).not.toContain("root:");
    expect(text.length).toBeLessThanOrEqual(file.length);
  }
  expect(await read("GIF89a<script>alert(1)</script>", { mediaType: "text/html" })).toMatchObject({
    kind: "image",
    mediaType: "image/gif",
    pieces: [],
  });
});

test("ends work that exceeds the time or memory limit, and reports which limit", async () => {
  expect(await codeOf(read(makePdfBomb(20), {}, { timeoutMs: 1 }))).toBe("TIMEOUT");
  expect(await codeOf(read(makePdfBomb(100), {}, { memoryMb: 32, timeoutMs: 600_000 }))).toBe("MEMORY");
  expect(await codeOf(read("%PDF-1.7\nnothing"))).toBe("UNREADABLE");
});

test("rejects with the reason of an abort", async () => {
  const stop = new AbortController();
  const bytes = makePdfBomb(50);
  const file = { name: "f", mediaType: "", charset: "", bytes };
  // The timeout would end the work with another error, and much later.
  const work = extract(file, { ...LIMITS, timeoutMs: 600_000 }, stop.signal);
  setImmediate(() => stop.abort(new Error("stopped")));
  await expect(work).rejects.toThrow("stopped");
});
