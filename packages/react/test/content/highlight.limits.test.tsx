/** Measures that no code block takes long to color. */
import { measureSlowness } from "@turnstream/testkit/util/cpu-slowness.ts";
import { beforeAll, expect, test } from "vitest";
import { createHighlighter } from "../../src/highlight/highlight-chunk.tsx";
import { LANGUAGES } from "../../src/highlight/languages.ts";

const highlighter = createHighlighter({});
const NAMES = Object.keys(LANGUAGES);
beforeAll(async () => await Promise.all(NAMES.map((name) => highlighter.load(name))));

const MAX_CHARS = 8_000;
const MAX_MS = 100;
const SLOW = ["a", "a ", "(", "'", '"', "`", "\\", "<a ", "a\n", "-"];

/** The least of several tries counts, because compilation and garbage collection are not the fault of the text. */
function measure(name: string, text: string): number {
  let least = Infinity;
  for (let tries = 0; tries < 5 && least > MAX_MS; tries++) {
    const started = process.threadCpuUsage();
    void highlighter.color(name, text);
    const { user, system } = process.threadCpuUsage(started);
    least = Math.min(least, (user + system) / 1_000 / (tries === 0 ? 1 : measureSlowness()));
  }
  return least;
}

test.for(NAMES)("no code block of %s takes long", (name) => {
  const slow = SLOW.flatMap((part) => {
    const fill = (chars: number, end: string): string => {
      const line = part.repeat(chars / part.length) + end;
      return line.repeat(MAX_CHARS / line.length);
    };
    const ms = Math.max(measure(name, fill(800, "\n")), measure(name, fill(290, ";\n")));
    return ms < MAX_MS ? [] : [`${JSON.stringify(part)}: ${Math.round(ms)} ms`];
  });
  expect(slow).toEqual([]);
});
