/** Tests a page whose Redis has no memory left: it shows that the answer waits, and then the whole answer. */
import { startRedis, type RedisServer } from "@turnstream/testkit/servers/start-redis.ts";
import { afterAll, beforeAll, test } from "vitest";
import { answerTo } from "./agents.ts";
import { BrowserSession } from "./browser-session.ts";
import { compareScreens } from "./story/compare.ts";

let redis: RedisServer;
let browserSession: BrowserSession;

beforeAll(async () => {
  // Its own server, because other tests use the shared one. `noeviction` is the default, so it refuses writes.
  redis = await startRedis();
  browserSession = await BrowserSession.open({ redisUrl: redis.url });
});

afterAll(async () => {
  await browserSession?.close();
  await redis?.stop();
});

test("a Redis that refuses writes in mid-answer, which the page shows until it accepts them", async () => {
  const ref = await browserSession.createSession();
  const tab = await browserSession.openTab(await browserSession.openContext(), ref);
  await tab.live();
  const resume = browserSession.pauseAnswerAfter(10);
  await tab.send("memory");
  await tab.reads("memory-5 ");
  await redis.command("CONFIG", "SET", "maxmemory", "1");
  const banner = tab.page.locator(".ts-banner[data-phase=resuming]");
  await banner.getByText("The answer continues in a moment…").waitFor();
  resume();
  await redis.command("CONFIG", "SET", "maxmemory", "0");
  await tab.reads(answerTo("memory"));
  await banner.waitFor({ state: "detached" });
  const fresh = await browserSession.openTab(await browserSession.openContext(), ref);
  await compareScreens(tab, fresh, browserSession.readHead(ref));
});
