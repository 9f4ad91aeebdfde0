/** Measures that hostile pages are read in bounded CPU time. */
import { expect, test } from "vitest";
import { readHtml } from "../src/read-html.ts";

test("reads hostile pages in bounded time", async () => {
  const started = process.cpuUsage();
  for (const html of [
    "<div>".repeat(200_000),
    `<table><tr>${"<td>x".repeat(200_000)}`,
    "<p>".repeat(100_000),
    "a".repeat(2_000_000),
    `<p ${"a=b ".repeat(100_000)}>x`,
    "&amp;".repeat(200_000),
    "<".repeat(300_000),
    "<!--".repeat(100_000),
    `<svg>${"<svg>".repeat(50_000)}`,
    `${"\n".repeat(1_000_000)}x`,
  ])
    await readHtml(html);
  // CPU time, so that other processes on the machine don't count.
  expect(process.cpuUsage(started).user / 1_000).toBeLessThan(10_000);
});
