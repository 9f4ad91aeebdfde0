/**
 * `frozenWriter` freezes a process while it writes, takes its sessions over, and wakes it up. The network delays what
 * it had sent, so some of its bytes reach Redis only after the claim.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createRedisLog } from "@turnstream/server";
import { createMemoryStore } from "@turnstream/testing";
import { HistoryFolder } from "@turnstream/testkit/history/record-history.ts";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { HistoryTally } from "./history-tally.ts";
import { type LogLoad, playRound } from "./log-load.ts";
import type { FrozenWriterMessage, FrozenWriterSettings, WriteRequest } from "./processes/frozen-writer.ts";
import { type Figure, NEVER_MS, type RunOptions, type Scenario } from "./scenario.ts";
import { TENANT } from "./session-load.ts";

const SESSIONS = 6;
/** How soon after waking up it must get `FENCED`. */
const LEARN_MS = 1_000;

export const frozenWriter: Scenario = {
  promise: 9,
  about: "freezes a writer, takes its sessions over, wakes it up",
  times: 100,
  run,
};

type Child = ChildProgram<FrozenWriterMessage, WriteRequest>;

interface Found {
  notFenced: number;
  slowestMs: number;
  /** Rounds in which bytes of the frozen process reached Redis after the claim. */
  late: number;
}

async function run(options: RunOptions): Promise<Figure[]> {
  const { times, random } = options;
  const redis = await startRedis();
  const proxy = await startProxy({ to: { host: "127.0.0.1", port: redis.port } });
  const log = await createRedisLog({ url: redis.url });
  const store = createMemoryStore();
  await store.tenants.create({ id: TENANT, name: "Chaos" });
  const folder = await HistoryFolder.make();
  const settings: FrozenWriterSettings = {
    redisUrl: `redis://127.0.0.1:${proxy.port}`,
    history: folder.path,
  };
  const file = join(import.meta.dirname, "processes/frozen-writer.ts");
  const child: Child = await ChildProgram.start({ file, settings });
  const setting = { store, owners: log, joiners: log, readers: [log], random, sessions: SESSIONS };
  const tally = new HistoryTally(options);
  const found: Found = { notFenced: 0, slowestMs: 0, late: 0 };
  try {
    for (let n = 1; n <= times; n++) {
      folder.clear();
      const history = await playRound({ ...setting, name: `r${n}` }, (load) =>
        freeze(load, child, proxy, options, found),
      );
      tally.add([...history, ...folder.read()]);
    }
  } finally {
    await child.kill();
    await Promise.all([log.close(), store.close()]);
    await proxy.close();
    await redis.stop();
    folder.remove();
  }
  return [
    ...tally.figures(),
    { figure: "writers that did not get FENCED", value: found.notFenced, exactly: 0 },
    { figure: "slowest to get FENCED", value: Math.round(found.slowestMs), atMost: LEARN_MS, unit: "ms" },
    { figure: "rounds with bytes that arrived after the claim", value: found.late, atLeast: times / 4 },
    { figure: "acknowledged appends", value: tally.sum("acknowledged"), atLeast: times * SESSIONS },
  ];
}

async function freeze(
  load: LogLoad,
  child: Child,
  proxy: TcpProxy,
  { random }: RunOptions,
  found: Found,
): Promise<void> {
  for (const { ref, claimed } of load.sessions) if (claimed !== null) child.send({ ref, ...claimed });
  await sleep(10 + random() * 60);
  // From here on its bytes take longer than a claim.
  proxy.delay(20 + Math.floor(random() * 60));
  await sleep(random() * 100);
  await child.freeze();

  const before = load.sessions.map(({ claimed }) => claimed);
  load.start();
  const isTakenOver = () => load.sessions.every(({ claimed }, n) => claimed !== before[n]);
  await until("all sessions to be taken over", isTakenOver, { everyMs: 1 });
  const arrived = proxy.counters().bytes.toServer;
  await sleep(100 + random() * 300);
  if (proxy.counters().bytes.toServer > arrived) found.late++;
  await proxy.heal();
  const wokenAt = performance.now();
  child.signal("SIGCONT");
  for (const { ref } of load.sessions) {
    const refusal = await untilRefused(child, ref.session, wokenAt + NEVER_MS);
    if (refusal?.code !== "FENCED") found.notFenced++;
    found.slowestMs = Math.max(found.slowestMs, (refusal?.at ?? Infinity) - wokenAt);
  }
  await load.recovered();
}

async function untilRefused(
  child: Child,
  session: string,
  deadline: number,
): Promise<{ code: string; at: number } | null> {
  do {
    for (const { message, at } of child.messages)
      if ("refused" in message && message.refused === session) return { code: message.code, at };
    await sleep(1);
  } while (performance.now() < deadline);
  return null;
}
