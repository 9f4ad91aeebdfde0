/** Measures that hostile files are extracted or refused in bounded time and memory, without blocking the thread. */
import { expect, test } from "vitest";
import { extract, ExtractError, type ExtractLimits } from "../../src/text-extraction/extract.ts";
import { makePdf, makePdfBomb } from "./make-pdf.ts";

const LIMITS: ExtractLimits = { maxChars: 1_000_000, timeoutMs: 8_000, memoryMb: 96 };
const idle = new AbortController().signal;

async function codeOf(bytes: Uint8Array): Promise<string> {
  const file = { name: "f", mediaType: "", charset: "", bytes: new Uint8Array(bytes) };
  return extract(file, LIMITS, idle).then(
    () => "read",
    (error: unknown) => (error instanceof ExtractError ? error.code : String(error)),
  );
}

/** Returns the longest time that the work blocked this thread, in milliseconds of CPU time. */
async function stallOf(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = process.threadCpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.threadCpuUsage(last);
    longest = Math.max(longest, (user + system) / 1_000);
    last = process.threadCpuUsage();
  }, 10);
  await work();
  clearInterval(timer);
  return longest;
}

const hostile: [name: string, make: () => Uint8Array][] = [
  ["a page of a million open elements", () => Buffer.from(`<html>${"<div>".repeat(1_000_000)}`)],
  [
    "a page with a table of a million rows",
    () => Buffer.from(`<html><table>${"<tr><td>x".repeat(1_000_000)}`),
  ],
  ["a page with an endless attribute", () => Buffer.from(`<html><a href="${"x".repeat(20_000_000)}`)],
  ["a page of open comments", () => Buffer.from(`<html>${"<!--".repeat(2_000_000)}`)],
  ["a table of one line", () => Buffer.from('"a,'.repeat(5_000_000))],
  ["a PDF that unpacks to 300 MB", () => makePdfBomb(300)],
  ["a PDF that is cut off", () => makePdf([["text"]]).slice(0, 300)],
  ["a PDF of garbage", () => Buffer.from(`%PDF-1.7\n${"\u0001obj << /Kids [1 0 R".repeat(50_000)}`)],
  ["a JSON of brackets", () => Buffer.from("[".repeat(10_000_000))],
];

test.each(hostile)("%s is extracted or refused without blocking the thread", async (_, make) => {
  const bytes = make();
  const before = process.memoryUsage().rss;
  let code = "";
  const started = performance.now();
  const stall = await stallOf(async () => {
    code = await codeOf(bytes);
  });
  expect(["read", "TIMEOUT", "MEMORY", "UNREADABLE"]).toContain(code);
  // The timeout is eight seconds. The rest covers the end of the thread on a machine that stalls.
  expect(performance.now() - started).toBeLessThan(30_000);
  expect(stall).toBeLessThan(1_000);
  expect(process.memoryUsage().rss - before).toBeLessThan(700_000_000);
});
