/**
 * Records `docs/images/killed-server.png`, the moving picture at the top of the README: `npm run docs:recording`. It
 * starts the market assistant, asks a question in Chromium, kills the server that the page is connected to, and takes
 * pictures until the answer is complete.
 * Invariant: nothing is staged. The process is killed by its id, and the terminal below the page shows the output of the
 * example. The frames have the times at which they were taken.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "@turnstream/testkit/util/until.ts";
import type { Page } from "playwright-core";
import { closeBrowser, openBrowser } from "../chromium.ts";
import { startExample } from "../start-example.ts";
import { decodePng } from "./decode-png.ts";
import { encodeApng, type Frame } from "./encode-apng.ts";

const FILE = join(import.meta.dirname, "../../../docs/images/killed-server.png");
/** A suggestion of the example. */
const QUESTION = "How is the market today?";
const MAX_BYTES = 2_000_000;
const SIZE = { width: 840, height: 620 };
/** Slower than normal, so that the answer lasts longer than a restart of the server. */
const SPEED = "0.2";
/** The least time between two frames. */
const FRAME_MS = 100;
/** How much is shown before the answer starts, and after its end. */
const LEAD_MS = 1_500;
const END_MS = 4_000;
const POLL = { timeoutMs: 120_000, everyMs: 150 };

const TERMINAL = `
  .ma-page { block-size: calc(100dvh - 116px); }
  #terminal { box-sizing: border-box; position: fixed; inset: auto 0 0; block-size: 116px; margin: 0; padding: 10px 16px;
    display: flex; flex-direction: column; justify-content: flex-end; overflow: hidden;
    background: #171614; color: #d6d1c8; font: 13px/1.6 ui-monospace, "Noto Sans Mono", monospace; }
  #terminal b { color: #f0b04a; font-weight: 600; }`;

interface Shot {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly file: Buffer;
}

/** Shows the last lines of a terminal below the page. A line that starts with `$` is a command. */
async function showTerminal(page: Page, lines: readonly string[]): Promise<void> {
  await page.evaluate((shown) => {
    const terminal = document.querySelector("#terminal");
    terminal?.replaceChildren(
      ...shown.map((text) => {
        const line = document.createElement(text.startsWith("$") ? "b" : "span");
        line.textContent = text;
        return line;
      }),
    );
  }, lines.slice(-4));
}

/** Chromium sends a picture whenever it has drawn something. Returns a function that ends it. */
async function startRecording(page: Page, shots: Shot[]): Promise<() => Promise<void>> {
  const devtools = await page.context().newCDPSession(page);
  devtools.on("Page.screencastFrame", ({ data, sessionId, metadata: { timestamp = 0 } }) => {
    const at = timestamp * 1_000;
    const last = shots.at(-1);
    const isEarly = last !== undefined && at - last.at < FRAME_MS;
    // The newer picture replaces the last one, so that none is shown longer than it was true.
    if (isEarly) shots.pop();
    shots.push({ at: isEarly ? last.at : at, file: Buffer.from(data, "base64") });
    // The page may be closed meanwhile.
    devtools.send("Page.screencastFrameAck", { sessionId }).catch(() => {});
  });
  await devtools.send("Page.startScreencast", {
    format: "png",
    maxWidth: SIZE.width,
    maxHeight: SIZE.height,
  });
  return async () => {
    await devtools.send("Page.stopScreencast");
  };
}

async function record(): Promise<Frame[]> {
  const example = await startExample("market-assistant", ["--port", "0", "--speed", SPEED]);
  const browser = await openBrowser();
  const shots: Shot[] = [];
  try {
    const page = await browser.newPage({ viewport: SIZE, locale: "en-US", reducedMotion: "reduce" });
    page.setDefaultTimeout(POLL.timeoutMs);
    await page.goto(example.url);
    await page.addStyleTag({ content: TERMINAL });
    await page.evaluate(() => {
      const terminal = document.createElement("div");
      terminal.id = "terminal";
      document.body.append(terminal);
    });
    const server = example.pidOf("Server");
    const commands = ["$ npm start", `Server      process ${server}`];
    let printed = example.lines.length;
    await showTerminal(page, commands);
    await page.getByRole("button", { name: QUESTION, exact: true }).click();
    await page.keyboard.press("Enter");
    const printing = setInterval(() => {
      const added = example.lines.slice(printed);
      printed = example.lines.length;
      commands.push(...added.map((line) => line.trim()).filter((line) => line.startsWith("Server")));
      if (added.length > 0) void showTerminal(page, commands);
    }, 200);
    const stopRecording = await startRecording(page, shots);
    const text = page.locator(".ts-text").last();
    const reads = (part: string) =>
      until(`the answer to contain "${part}"`, async () => (await text.innerText()).includes(part), POLL);
    await reads("The market is");
    const startedAt = Date.now();
    await reads("1,284.6");
    commands.push(`$ kill -9 ${server}`);
    await showTerminal(page, commands);
    process.kill(server, "SIGKILL");
    await reads("Shall I look into one of them?");
    await page.locator(".ts-turn[data-running]").waitFor({ state: "detached" });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    clearInterval(printing);
    await stopRecording();
    return toFrames(shots.filter(({ at }) => at >= startedAt - LEAD_MS));
  } finally {
    await closeBrowser(browser);
    await example.interrupt();
  }
}

/** Pictures that are equal become one frame. */
function toFrames(shots: readonly Shot[]): Frame[] {
  const different = shots.filter(({ file }, n) => n === 0 || shots[n - 1]?.file.equals(file) !== true);
  return different.map(({ at, file }, n) => ({
    picture: decodePng(file),
    ms: (different[n + 1]?.at ?? at + END_MS) - at,
  }));
}

const frames = await record();
const file = encodeApng(frames);
if (file.length > MAX_BYTES)
  throw new Error(`The recording has ${file.length} bytes, expected at most ${MAX_BYTES}.`);
writeFileSync(FILE, file);
const seconds = frames.reduce((sum, { ms }) => sum + ms, 0) / 1_000;
console.log(
  `${FILE}: ${frames.length} frames, ${seconds.toFixed(1)} s, ${Math.round(file.length / 1_000)} kB.`,
);
