/**
 * `streamInto` opens the bench page in Chromium, streams one answer and reads its cost. `buildPages` builds and serves
 * the page.
 *
 * Invariant: the costs of `Cost` are CPU time of the page's main thread, so that other programs on the machine don't
 * count. Only `loadMs` and the fields of `Smoothness` are wall-clock time.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { serveFolder } from "@turnstream/browser/serve-folder.ts";
import { makeFolder, removeFolder } from "@turnstream/testkit/processes/watch.ts";
import type { Browser, CDPSession } from "playwright-core";
import type { Smoothness } from "../pages/watch.ts";
import { traceTasks } from "./tasks.ts";

export type TargetName = "turnstream" | "use-chat" | "use-chat-memo" | "streamdown";

export interface StreamOptions {
  readonly subject: TargetName;
  /** How many messages the thread has before the answer. */
  readonly messages: number;
  /** Text deltas of the answer. */
  readonly deltas: number;
  /** Frames per second. */
  readonly pace: number;
}

export interface Cost extends Smoothness {
  readonly scriptMs: number;
  readonly layoutMs: number;
  readonly styleMs: number;
  /** All work of the main thread. */
  readonly taskMs: number;
  /** CPU time of each task over 50 ms. */
  readonly longTasksCpu: readonly number[];
  readonly heapMb: number;
  /** From the start of the navigation until the page with the earlier turns is idle. */
  readonly loadMs: number;
}

const BUILD_MS = 300_000;

export interface Built {
  readonly url: string;
  close(): Promise<void>;
}

export async function buildPages(): Promise<Built> {
  const root = join(import.meta.dirname, "../..");
  const source = join(import.meta.dirname, "../pages");
  const folder = await makeFolder("bench-pages");
  const vite = join(root, "node_modules/vite/bin/vite.js");
  const args = ["build", source, "--outDir", folder, "--emptyOutDir", "--logLevel", "error"];
  const config = ["--config", join(source, "vite.config.ts")];
  await promisify(execFile)(process.execPath, [vite, ...args, ...config], {
    cwd: root,
    env: { ...process.env, NODE_ENV: "production" },
    timeout: BUILD_MS,
  });
  const served = await serveFolder(folder);
  return {
    url: served.url,
    async close() {
      await served.close();
      removeFolder(folder);
    },
  };
}

export async function streamInto(browser: Browser, url: string, options: StreamOptions): Promise<Cost> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  try {
    const page = await context.newPage();
    const errors: Error[] = [];
    page.on("pageerror", (error) => errors.push(error));
    const cdp = await context.newCDPSession(page);
    await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
    const query = new URLSearchParams(Object.entries(options).map(([name, value]) => [name, String(value)]));
    const startedAt = performance.now();
    await page.goto(`${url}/?${query.toString()}`);
    await page.evaluate(async () => await window.bench.ready);
    const loadMs = performance.now() - startedAt;
    const tasks = await traceTasks(cdp);
    const before = await metrics(cdp);
    const smoothness = await page.evaluate(async () => await window.bench.stream());
    const after = await metrics(cdp);
    const long = (await tasks.stop()).filter((ms) => ms > 50);
    if (errors[0] !== undefined) throw errors[0];
    const spent = (name: string): number => ((after[name] ?? 0) - (before[name] ?? 0)) * 1000;
    return {
      ...smoothness,
      scriptMs: spent("ScriptDuration"),
      layoutMs: spent("LayoutDuration"),
      styleMs: spent("RecalcStyleDuration"),
      taskMs: spent("TaskDuration"),
      longTasksCpu: long,
      heapMb: (after["JSHeapUsedSize"] ?? 0) / 1e6,
      loadMs,
    };
  } finally {
    await context.close();
  }
}

async function metrics(cdp: CDPSession): Promise<Record<string, number>> {
  const { metrics: list } = await cdp.send("Performance.getMetrics");
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}
