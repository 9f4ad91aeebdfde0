/** Tests the engine and its executors as real processes that are killed, frozen and terminated. */
import { setTimeout as sleep } from "node:timers/promises";
import { median } from "@turnstream/testkit/util/median.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { expect, test } from "vitest";

import { Workers } from "./worker-process.ts";
import { TIMED } from "../timed-test.ts";

const IDS = Array.from({ length: 20 }, (_, n) => `session-${n}/turn`);
const SORTED = IDS.toSorted();

/** Prints measurements. The limits are in the tests. */
function report(text: string): void {
  process.stderr.write(`${text}\n`);
}

test("kill -9: a living process runs all jobs again within five seconds, each once", TIMED, () =>
  Workers.use(async (workers) => {
    const [a, b] = await workers.launch(2);
    a?.send({ start: IDS });
    expect(await a?.waitFor("started")).toMatchObject({ started: 20 });
    await until("20 jobs", () => a?.startedJobs.length === 20);
    const killedAt = Date.now();
    a?.signal("SIGKILL");
    await until("20 jobs again", () => b?.startedJobs.length === 20, { timeoutMs: 45_000 });
    const after = b?.startedJobs.map(({ at }) => at - killedAt) ?? [];
    report(`takeover after kill -9: median ${median(after)} ms, last ${Math.max(...after)} ms`);
    expect(median(after)).toBeLessThan(5_000);
    expect(b?.startedJobs.map(({ job }) => job).toSorted()).toEqual(SORTED);
    expect(b?.startedJobs.every(({ attempt }) => attempt === 2)).toBe(true);
    b?.send({ end: true });
    await until("all ended", async () => (await workers.rows()).every(({ status }) => status === "SUCCESS"));
    expect(b?.findAll("lost")).toEqual([]);
  }),
);

test("kill -9 of the process that is taking over: the third process gets all jobs", () =>
  Workers.use(async (workers) => {
    const [a, b, c] = await workers.launch(3, { ttlMs: 2_000 });
    a?.send({ start: IDS });
    await until("20 jobs", () => a?.startedJobs.length === 20);
    a?.signal("SIGKILL");
    const taker = () => [b, c].find((worker) => (worker?.startedJobs.length ?? 0) > 0);
    await until("a takeover", () => taker() !== undefined, { timeoutMs: 45_000, everyMs: 1 });
    const last = taker() === b ? c : b;
    taker()?.signal("SIGKILL");
    await until("20 jobs again", () => last?.startedJobs.length === 20, { timeoutMs: 45_000 });
    expect(last?.startedJobs.map(({ job }) => job).toSorted()).toEqual(SORTED);
    last?.send({ end: true });
    await until("all ended", async () => (await workers.rows()).every(({ status }) => status === "SUCCESS"));
    expect(await workers.rows()).toHaveLength(20);
  }));

test.each([
  { isGuarded: true, by: "the executor" },
  { isGuarded: false, by: "the database alone" },
])(
  "SIGSTOP past the lease, then SIGCONT: $by prevents the frozen process from changing anything",
  ({ isGuarded }) =>
    Workers.use(async (workers) => {
      const [a, b] = await workers.launch(2, { isGuarded, ttlMs: 5_000 });
      a?.send({ start: IDS });
      await until("20 jobs", () => a?.startedJobs.length === 20);
      a?.signal("SIGSTOP");
      await until("20 jobs again", () => b?.startedJobs.length === 20, { timeoutMs: 45_000 });
      // The process reads this when it wakes up, possibly before any of its timers.
      a?.send({ end: true });
      if (isGuarded) a?.send({ start: ["late/turn"] });
      a?.signal("SIGCONT");
      await a?.waitFor("lost");
      if (isGuarded) {
        await until("a refusal", () => a?.findAll("refused").some(({ refused }) => refused === 1) ?? false);
      } else {
        // Without a clock, the process assumed that all of its jobs had ended.
        expect(a?.findAll("returned")).toHaveLength(20);
      }
      await sleep(500);
      expect(a?.startedJobs).toHaveLength(20);
      const rows = await workers.rows();
      expect(rows.map(({ id }) => id)).toEqual(SORTED);
      expect(rows.every(({ status, executor }) => status === "PENDING" && executor === b?.name)).toBe(true);
      expect(a?.findAll("lost")).toHaveLength(1);

      b?.send({ end: true });
      await until("all ended", async () =>
        (await workers.rows()).every(({ status }) => status === "SUCCESS"),
      );
      expect(b?.startedJobs).toHaveLength(20);
    }),
);

test("SIGTERM: other processes get the jobs immediately, and the process exits", TIMED, () =>
  Workers.use(async (workers) => {
    const [a, b] = await workers.launch(2, { ttlMs: 30_000 });
    a?.send({ start: IDS });
    await until("20 jobs", () => a?.startedJobs.length === 20);
    const signaledAt = Date.now();
    a?.signal("SIGTERM");
    await until("20 jobs again", () => b?.startedJobs.length === 20, { timeoutMs: 45_000 });
    const after = b?.startedJobs.map(({ at }) => at - signaledAt) ?? [];
    report(`handed over after SIGTERM: median ${median(after)} ms, last ${Math.max(...after)} ms`);
    expect(Math.max(...after)).toBeLessThan(2_000);
    await a?.exited;
    expect(a?.findAll("aborted")).toHaveLength(20);
    expect(a?.findAll("lost")).toEqual([]);
  }),
);

test("a thousand waiting jobs in one process use little memory, and all are recovered", () =>
  Workers.use(async (workers) => {
    const [a, b] = await workers.launch(2);
    const before = (await a?.measureHeap()) ?? 0;
    const ids = Array.from({ length: 1_000 }, (_, n) => `session-${n}/turn`);
    a?.send({ start: ids });
    const ms = (await a?.waitFor("started"))?.ms ?? 0;
    await until("1,000 jobs", () => a?.startedJobs.length === 1_000);
    const perJob = (((await a?.measureHeap()) ?? 0) - before) / 1_000;
    report(`${Math.round(1_000_000 / ms)} starts/s, ${(perJob / 1_024).toFixed(1)} KB per waiting job`);
    expect(perJob).toBeLessThan(64 * 1_024);
    const killedAt = Date.now();
    a?.signal("SIGKILL");
    await until("1,000 jobs again", () => b?.startedJobs.length === 1_000, { timeoutMs: 45_000 });
    report(`1,000 jobs taken over after ${(b?.startedJobs.at(-1)?.at ?? 0) - killedAt} ms`);
  }));
