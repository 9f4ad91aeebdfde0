/** Servers that are killed under a page: what it shows in the end is what a page shows that has only just come. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { answerTo } from "./agents.ts";
import { killChild, startChild } from "./child-process.ts";
import type { WorkerSettings } from "./processes/worker.ts";
import { Room } from "./browser-context.ts";
import { wordsOf } from "./screen.ts";
import { sameScreens } from "./story/compare.ts";

/** Longer than a busy machine stands still: a worker that loses its lease ends itself. */
const TTL_MS = 10_000;

let room: Room;

beforeAll(async () => {
  room = await Room.open({ gateway: "apart", hasWorker: false });
});

afterAll(async () => {
  await room?.close();
});

async function startWorker(name: string, paceMs: number) {
  const settings: WorkerSettings = { ...room.house.places, name, paceMs, ttlMs: TTL_MS };
  const child = await startChild("worker.ts", settings);
  onTestFinished(() => killChild(child));
  return child;
}

test("a gateway that is killed in mid-answer, and started again", async () => {
  await startWorker("steady", 30);
  const ref = await room.session();
  const tab = await room.tab(await room.person(), ref);
  await tab.live();
  await tab.send("gateway");
  await tab.reads("gateway-5 ");
  await room.house.process?.kill();
  await tab.until("to notice", ({ phase }) => phase !== "live");
  await room.house.process?.start();
  await tab.reads(answerTo("gateway"));
  const fresh = await room.tab(await room.person(), ref);
  await sameScreens(tab, fresh, room.head(ref));
});

test("a worker that is killed in mid-answer, and another that goes on", async () => {
  const first = await startWorker("first", 60);
  const ref = await room.session();
  const tab = await room.tab(await room.person(), ref);
  await tab.live();
  await tab.send("worker");
  await tab.reads("worker-5 ");
  await killChild(first);
  await startWorker("second", 5);
  await tab.reads(answerTo("worker"));
  // What the first one had said is void: the page shows one answer.
  expect((await wordsOf(tab.page)).split("worker-1 ")).toHaveLength(2);
  const fresh = await room.tab(await room.person(), ref);
  await sameScreens(tab, fresh, room.head(ref));
});
