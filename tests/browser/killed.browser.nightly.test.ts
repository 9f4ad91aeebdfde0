/** Tests pages whose gateway or worker is killed. In the end they show the same as a page that was just opened. */
import { join } from "node:path";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { answerTo } from "./agents.ts";
import type { WorkerSettings } from "./processes/worker.ts";
import { BrowserSession } from "./browser-session.ts";
import { readText } from "./screen.ts";
import { compareScreens } from "./story/compare.ts";

/** Longer than a busy machine may pause, because a worker that loses its lease exits. */
const TTL_MS = 10_000;

let browserSession: BrowserSession;

beforeAll(async () => {
  browserSession = await BrowserSession.open({ gateway: "child-process", hasWorker: false });
});

afterAll(async () => {
  await browserSession?.close();
});

async function startWorker(name: string, paceMs: number) {
  const settings: WorkerSettings = { ...browserSession.environment.urls, name, paceMs, ttlMs: TTL_MS };
  const file = join(import.meta.dirname, "processes/worker.ts");
  const worker = await ChildProgram.start({ file, settings, name });
  onTestFinished(() => worker.kill());
  return worker;
}

test("a gateway that is killed in mid-answer and restarted", async () => {
  await startWorker("steady", 30);
  const ref = await browserSession.createSession();
  const tab = await browserSession.openTab(await browserSession.openContext(), ref);
  await tab.live();
  await tab.send("gateway");
  await tab.reads("gateway-5 ");
  await browserSession.environment.killGateway();
  await tab.until("the tab to notice the lost connection", ({ phase }) => phase !== "live");
  await browserSession.environment.restartGateway();
  await tab.reads(answerTo("gateway"));
  const fresh = await browserSession.openTab(await browserSession.openContext(), ref);
  await compareScreens(tab, fresh, browserSession.readHead(ref));
});

test("W22 a worker that is killed in mid-answer and replaced by another, which the page shows", async () => {
  // The answer is so slow that it can't end before the worker is killed.
  const first = await startWorker("first", 300);
  const ref = await browserSession.createSession();
  const tab = await browserSession.openTab(await browserSession.openContext(), ref);
  await tab.live();
  await tab.send("worker");
  await tab.reads("worker-5 ");
  await first.kill();
  const banner = tab.page.locator(".ts-banner[data-phase=resuming]");
  await banner.getByText("The answer continues in a moment…").waitFor();
  await startWorker("second", 5);
  await tab.reads(answerTo("worker"));
  await banner.waitFor({ state: "detached" });
  // The blocks of the first worker are superseded: the page shows one answer.
  expect((await readText(tab.page)).split("worker-1 ")).toHaveLength(2);
  const fresh = await browserSession.openTab(await browserSession.openContext(), ref);
  await compareScreens(tab, fresh, browserSession.readHead(ref));
});
