/**
 * `frozenWriter` freezes a process while it writes, takes its sessions over, and wakes it up. The network delays what
 * it had sent, so some of its bytes reach Redis only after the claim.
 *
 * Invariant: none of its entries follows the claim, and it learns at once that it is fenced.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createRedisLog, type SessionRef } from "@turnstream/server";
import type { Log } from "@turnstream/server/ports";
import { until } from "@turnstream/testkit/util/until.ts";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import { readLog } from "@turnstream/testkit/backend/read-all-events.ts";
import { createTitle } from "./ledger.ts";
import type {
  FrozenWriterMessage,
  FrozenWriterSettings,
  Refusal,
  SessionClaim,
  WriteRequest,
} from "./processes/frozen-writer.ts";
import { type Figure, NEVER_MS, type RunOptions, type Scenario } from "./scenario.ts";

const SESSIONS = 6;
/** How soon after waking up it must get `FENCED`. */
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
  about: "freezes a writer, takes its sessions over, wakes it up",
  times: 100,
  run,
};

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const redis = await startRedis();
  const proxy = await startProxy({ to: { host: "127.0.0.1", port: redis.port } });
  const log = await createRedisLog({ url: redis.url });
  const settings: FrozenWriterSettings = { redisUrl: `redis://127.0.0.1:${proxy.port}` };
  const file = join(import.meta.dirname, "processes/frozen-writer.ts");
  const child: WriterProgram = await ChildProgram.start({ file, settings });
  const found: Found = { after: 0, wrong: 0, lost: 0, notFenced: 0, slowestMs: 0, late: 0, acknowledged: 0 };
  try {
    for (let n = 1; n <= times; n++) {
      await freezeOnce({ n, child, proxy, log, random, found });
      if (n % 20 === 0) progress(`${n} of ${times}: ${JSON.stringify(found)}`);
    }
  } finally {
    await child.kill();
    await log.close();
    await proxy.close();
    await redis.stop();
  }
  return [
    { figure: "entries of a fenced writer after the claim", value: found.after, exactly: 0 },
    { figure: "entries that differ from what was written", value: found.wrong, exactly: 0 },
    { figure: "acknowledged entries lost", value: found.lost, exactly: 0 },
    { figure: "writers that did not get FENCED", value: found.notFenced, exactly: 0 },
    { figure: "slowest to get FENCED", value: Math.round(found.slowestMs), atMost: LEARN_MS, unit: "ms" },
    { figure: "rounds with bytes that arrived after the claim", value: found.late, atLeast: times / 4 },
    { figure: "entries acknowledged before", value: found.acknowledged, atLeast: times * SESSIONS },
  ];
}

interface Round {
  readonly n: number;
  readonly child: WriterProgram;
  readonly proxy: TcpProxy;
  readonly log: Log;
  readonly random: () => number;
  readonly found: Found;
}

type WriterProgram = ChildProgram<FrozenWriterMessage, WriteRequest>;
type TimedRefusal = Refusal & { readonly at: number };

async function freezeOnce({ n, child, proxy, log, random, found }: Round): Promise<void> {
  const claims: SessionClaim[] = Array.from({ length: SESSIONS }, (_, s) => ({
    ref: { tenant: "chaos", session: `s${n}-${s}` },
    epoch: 2 * n,
    writer: `old-${n}`,
    usesWriter: s % 2 === 0,
  }));
  const refusals = collect(child, new Set(claims.map(({ ref }) => ref.session)));
  child.send({ claims });
  await until("the writer to claim", () => refusals.isClaimed);
  await sleep(10 + random() * 60);
  // From here on its bytes take longer than a claim.
  proxy.delay(20 + Math.floor(random() * 60));
  await sleep(random() * 100);
  await child.freeze();

  const takeovers = await Promise.all(claims.map(({ ref }) => takeOver(log, ref, n)));
  const arrived = proxy.counters().bytes.toServer;
  await sleep(100 + random() * 300);
  if (proxy.counters().bytes.toServer > arrived) found.late++;
  await proxy.heal();
  const wokenAt = performance.now();
  child.signal("SIGCONT");
  await refusals.settled();

  for (const [s, { ref }] of claims.entries()) {
    const refusal = refusals.all.find(({ refused }) => refused === ref.session);
    if (refusal?.code !== "FENCED" || refusal.epoch !== 2 * n + 1) found.notFenced++;
    found.slowestMs = Math.max(found.slowestMs, (refusal?.at ?? Infinity) - wokenAt);
    await compare(log, ref, takeovers[s] ?? 0, refusal?.acknowledged ?? 0, found);
    await log.remove(ref);
  }
}

/** @returns the seq of the claim */
async function takeOver(log: Log, ref: SessionRef, n: number): Promise<number> {
  const event = { type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] } as const;
  const epoch = 2 * n + 1;
  const { last } = await log.claim(ref, { epoch, writer: "new", event, archivedUpTo: "0-0" });
  const events = [createTitle("new 1"), createTitle("new 2")];
  await log.append(ref, { epoch, writer: "new", counter: 1, events });
  return last;
}

async function compare(
  log: Log,
  ref: SessionRef,
  claim: number,
  acknowledged: number,
  found: Found,
): Promise<void> {
  const entries = (await readLog(log, ref, "0-0")) ?? [];
  const old = entries.filter(({ key }) => key.startsWith("old-"));
  found.after += old.filter(({ seq, epoch }) => seq > claim || epoch % 2 === 1).length;
  const texts = (from: number, to: number) =>
    entries.slice(from, to).map(({ event }) => (event.type === "session.update" ? event.title : event.type));
  const before = Array.from({ length: claim - 2 }, (_, n) => `${n + 1}`);
  const isRight =
    texts(0, claim).join() === ["turn.takeover", ...before, "turn.takeover"].join() &&
    texts(claim, Infinity).join() === "new 1,new 2";
  if (!isRight) found.wrong++;
  found.lost += Math.max(0, acknowledged - before.length);
  found.acknowledged += acknowledged;
}

/** Collects what the child reports about these sessions, until it has reported each one or the timeout has passed. */
function collect(child: WriterProgram, sessions: ReadonlySet<string>) {
  const all: TimedRefusal[] = [];
  const collected = { all, isClaimed: false, settled };
  const stop = child.onMessage((message) => {
    if ("claimed" in message) collected.isClaimed = true;
    if ("refused" in message && sessions.has(message.refused))
      all.push({ ...message, at: performance.now() });
  });
  async function settled(): Promise<void> {
    const deadline = performance.now() + NEVER_MS;
    while (all.length < sessions.size && performance.now() < deadline) await sleep(1);
    stop();
  }
  return collected;
}
