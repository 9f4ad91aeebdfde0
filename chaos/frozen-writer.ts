/**
 * Freezes a process while it writes, takes its sessions over, and wakes it up: nothing of it may come after the
 * claim, and it must learn at once that it is fenced. What it had sent is held back in the network for a while, so
 * that some of it reaches Redis only after the claim.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createRedisLog, type Log } from "@turnstream/server";
import { until } from "@turnstream/testkit/util/until.ts";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { forget, watch } from "@turnstream/testkit/processes/watch.ts";
import { title } from "./ledger.ts";
import type { Order, Reign, Report } from "./processes/frozen-writer.ts";
import { type Figure, NEVER_MS, type RunOptions, type Scenario } from "./scenario.ts";
import { readAll } from "./watcher.ts";

const SESSIONS = 6;
/** How soon after it wakes it has to know. */
const LEARN_MS = 1_000;

interface Found {
  /** Entries of the frozen writer after the claim. */
  after: number;
  wrong: number;
  lost: number;
  notFenced: number;
  slowestMs: number;
  /** Rounds in which bytes of the frozen process reached Redis after the claim. */
  late: number;
  acknowledged: number;
}

export const frozenWriter: Scenario = {
  promise: 9,
  about: "freeze a writer, take over, wake it up",
  times: 100,
  run,
};

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const redis = await startRedis();
  const proxy = await startProxy({ to: { host: "127.0.0.1", port: redis.port } });
  const log = await createRedisLog({ url: redis.url });
  const child = await startChild(`redis://127.0.0.1:${proxy.port}`);
  const found: Found = { after: 0, wrong: 0, lost: 0, notFenced: 0, slowestMs: 0, late: 0, acknowledged: 0 };
  try {
    for (let n = 1; n <= times; n++) {
      await freezeOnce({ n, child, proxy, log, random, found });
      if (n % 20 === 0) progress(`${n} of ${times}: ${JSON.stringify(found)}`);
    }
  } finally {
    await stopChild(child);
    await log.close();
    await proxy.close();
    await redis.stop();
  }
  return [
    { figure: "entries of a fenced writer after the claim", value: found.after, exactly: 0 },
    { figure: "entries that are not what was written", value: found.wrong, exactly: 0 },
    { figure: "acknowledged entries lost", value: found.lost, exactly: 0 },
    { figure: "writers that were not told FENCED", value: found.notFenced, exactly: 0 },
    { figure: "slowest to learn it", value: Math.round(found.slowestMs), atMost: LEARN_MS, unit: "ms" },
    { figure: "rounds with bytes that arrived after the claim", value: found.late, atLeast: times / 4 },
    { figure: "acknowledged before", value: found.acknowledged, atLeast: times * SESSIONS },
  ];
}

interface Round {
  readonly n: number;
  readonly child: ChildProcess;
  readonly proxy: TcpProxy;
  readonly log: Log;
  readonly random: () => number;
  readonly found: Found;
}

type Refusal = Extract<Report, { type: "refused" }> & { readonly at: number };

async function freezeOnce({ n, child, proxy, log, random, found }: Round): Promise<void> {
  const reigns: Reign[] = Array.from({ length: SESSIONS }, (_, s) => ({
    session: `s${n}-${s}`,
    epoch: 2 * n,
    writer: `old-${n}`,
    pen: s % 2 === 0,
  }));
  const refusals = collect(child, new Set(reigns.map(({ session }) => session)));
  child.send({ reigns } satisfies Order);
  await until("the writer to reign", () => refusals.isReigning);
  await sleep(10 + random() * 60);
  // From here on what it sends is under way for longer than it takes to claim.
  proxy.delay(20 + Math.floor(random() * 60));
  await sleep(random() * 100);
  freeze(child);
  await until("the writer to be frozen", () => isFrozen(child), { everyMs: 1 });

  const claims = await Promise.all(reigns.map(({ session }) => takeOver(log, session, n)));
  const arrived = proxy.counters().bytes.toServer;
  await sleep(100 + random() * 300);
  if (proxy.counters().bytes.toServer > arrived) found.late++;
  await proxy.heal();
  const wokenAt = performance.now();
  child.kill("SIGCONT");
  await refusals.settled();

  for (const [s, { session }] of reigns.entries()) {
    const refusal = refusals.all.find((each) => each.session === session);
    if (refusal?.code !== "FENCED" || refusal.epoch !== 2 * n + 1) found.notFenced++;
    found.slowestMs = Math.max(found.slowestMs, (refusal?.at ?? Infinity) - wokenAt);
    await compare(log, session, claims[s] ?? 0, refusal?.acknowledged ?? 0, found);
    await log.remove(session);
  }
}

/** @returns the seq of the claim */
async function takeOver(log: Log, session: string, n: number): Promise<number> {
  const event = { type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] } as const;
  const epoch = 2 * n + 1;
  const { last } = await log.claim(session, { epoch, writer: "new", event, archivedUpTo: "0-0" });
  const events = [title("new 1"), title("new 2")];
  await log.append(session, { epoch, writer: "new", counter: 1, events });
  return last;
}

async function compare(
  log: Log,
  session: string,
  claim: number,
  acknowledged: number,
  found: Found,
): Promise<void> {
  const entries = (await readAll(log, session, "0-0")) ?? [];
  const old = entries.filter(({ key }) => key.startsWith("old-"));
  found.after += old.filter(({ seq, epoch }) => seq > claim || epoch % 2 === 1).length;
  const words = (from: number, to: number) =>
    entries.slice(from, to).map(({ event }) => (event.type === "session.update" ? event.title : event.type));
  const before = Array.from({ length: claim - 2 }, (_, n) => `${n + 1}`);
  const isRight =
    words(0, claim).join() === ["turn.takeover", ...before, "turn.takeover"].join() &&
    words(claim, Infinity).join() === "new 1,new 2";
  if (!isRight) found.wrong++;
  found.lost += Math.max(0, acknowledged - before.length);
  found.acknowledged += acknowledged;
}

/** What the child says about these sessions, until it has spoken of each or has had more than enough time. */
function collect(child: ChildProcess, sessions: ReadonlySet<string>) {
  const all: Refusal[] = [];
  const collected = { all, isReigning: false, settled };
  function hear(report: Report): void {
    if (report.type === "reigning") collected.isReigning = true;
    if (report.type !== "refused" || !sessions.has(report.session)) return;
    all.push({ ...report, at: performance.now() });
  }
  async function settled(): Promise<void> {
    const deadline = performance.now() + NEVER_MS;
    while (all.length < sessions.size && performance.now() < deadline) await sleep(1);
    child.off("message", hear);
  }
  child.on("message", hear);
  return collected;
}

async function startChild(url: string): Promise<ChildProcess> {
  const file = join(import.meta.dirname, "processes/frozen-writer.ts");
  const child = spawn(process.execPath, ["--conditions=@turnstream/source", file, url], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  if (child.pid !== undefined) watch(child.pid);
  await once(child, "message");
  return child;
}

async function stopChild(child: ChildProcess): Promise<void> {
  const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : null;
  child.kill("SIGKILL");
  await ended;
  if (child.pid !== undefined) forget(child.pid);
}

function freeze(child: ChildProcess): void {
  child.kill("SIGSTOP");
}

function isFrozen(child: ChildProcess): boolean {
  const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
}
