/** The engine and its executors as real processes that are killed, frozen and ended. */
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "@turnstream/services/poll.ts";
import { expect, test } from "vitest";

import { median, Workers } from "./worker-process.ts";
import { TIMED } from "../timed-test.ts";

const IDS = Array.from({ length: 20 }, (_, n) => `session-${n}/turn`);
const SORTED = IDS.toSorted();

/** Figures for who runs the tests; the bars are in the tests. */
function report(text: string): void {
  process.stderr.write(`${text}\n`);
}

test("kill -9: a living process runs all jobs again within five seconds, each once", TIMED, () =>
  Workers.use(async (workers) => {
    const [a, b] = await workers.launch(2);
    a?.send({ start: IDS });
    expect(await a?.said("started")).toMatchObject({ started: 20 });
    await until("20 jobs", () => a?.begun.length === 20);
    const killedAt = Date.now();
    a?.kill("SIGKILL");
    await until("20 jobs again", () => b?.begun.length === 20, { timeoutMs: 45_000 });
    const after = b?.begun.map(({ at }) => at - killedAt) ?? [];
    report(`takeover after kill -9: median ${median(after)} ms, last ${Math.max(...after)} ms`);
    expect(median(after)).toBeLessThan(5_000);
    expect(b?.begun.map(({ begun }) => begun).toSorted()).toEqual(SORTED);
    expect(b?.begun.every(({ attempt }) => attempt === 2)).toBe(true);
    b?.send({ end: true });
    await until("all ended", async () => (await workers.rows()).every(({ status }) => status === "SUCCESS"));
    expect(b?.words.filter((word) => "lost" in word)).toEqual([]);
  }),
);

test("kill -9 of the one that is taking over: the third has all jobs", () =>
  Workers.use(async (workers) => {
    const [a, b, c] = await workers.launch(3, { ttlMs: 2_000 });
    a?.send({ start: IDS });
    await until("20 jobs", () => a?.begun.length === 20);
    a?.kill("SIGKILL");
    const taker = () => [b, c].find((worker) => (worker?.begun.length ?? 0) > 0);
    await until("a takeover", () => taker() !== undefined, { timeoutMs: 45_000, everyMs: 1 });
    const last = taker() === b ? c : b;
    taker()?.kill("SIGKILL");
    await until("20 jobs again", () => last?.begun.length === 20, { timeoutMs: 45_000 });
    expect(last?.begun.map(({ begun }) => begun).toSorted()).toEqual(SORTED);
    last?.send({ end: true });
    await until("all ended", async () => (await workers.rows()).every(({ status }) => status === "SUCCESS"));
    expect(await workers.rows()).toHaveLength(20);
  }));

test.each([
  { guarded: true, by: "the executor" },
  { guarded: false, by: "the database alone" },
])("SIGSTOP past the lease, then SIGCONT: the frozen one changes nothing, thanks to $by", ({ guarded }) =>
  Workers.use(async (workers) => {
    const [a, b] = await workers.launch(2, { guarded, ttlMs: 5_000 });
    a?.send({ start: IDS });
    await until("20 jobs", () => a?.begun.length === 20);
    a?.kill("SIGSTOP");
    await until("20 jobs again", () => b?.begun.length === 20, { timeoutMs: 45_000 });
    // Read when it wakes up, perhaps before any of its timers.
    a?.send({ end: true });
    if (guarded) a?.send({ start: ["late/turn"] });
    a?.kill("SIGCONT");
    await a?.said("lost");
    if (guarded) {
      await until(
        "a refusal",
        () => a?.words.some((word) => "refused" in word && word.refused === 1) ?? false,
      );
    } else {
      // Without a clock, it believed that all of them had ended.
      expect(a?.words.filter((word) => "returned" in word)).toHaveLength(20);
    }
    await sleep(500);
    expect(a?.begun).toHaveLength(20);
    const rows = await workers.rows();
    expect(rows.map(({ id }) => id)).toEqual(SORTED);
    expect(rows.every(({ status, executor }) => status === "PENDING" && executor === b?.name)).toBe(true);
    expect(a?.words.filter((word) => "lost" in word)).toHaveLength(1);

    b?.send({ end: true });
    await until("all ended", async () => (await workers.rows()).every(({ status }) => status === "SUCCESS"));
    expect(b?.begun).toHaveLength(20);
  }),
);

test("SIGTERM: others have the jobs at once, and it ends by itself", TIMED, () =>
  Workers.use(async (workers) => {
    const [a, b] = await workers.launch(2, { ttlMs: 30_000 });
    a?.send({ start: IDS });
    await until("20 jobs", () => a?.begun.length === 20);
    const toldAt = Date.now();
    a?.kill("SIGTERM");
    await until("20 jobs again", () => b?.begun.length === 20, { timeoutMs: 45_000 });
    const after = b?.begun.map(({ at }) => at - toldAt) ?? [];
    report(`handed over after SIGTERM: median ${median(after)} ms, last ${Math.max(...after)} ms`);
    expect(Math.max(...after)).toBeLessThan(2_000);
    await a?.gone();
    expect(a?.words.filter((word) => "aborted" in word)).toHaveLength(20);
    expect(a?.words.filter((word) => "lost" in word)).toEqual([]);
  }),
);

test("a thousand jobs that wait in one process are light, and all are recovered", () =>
  Workers.use(async (workers) => {
    const [a, b] = await workers.launch(2);
    a?.send({ weigh: true });
    const before = (await a?.said("weight"))?.weight ?? 0;
    const ids = Array.from({ length: 1_000 }, (_, n) => `session-${n}/turn`);
    a?.send({ start: ids });
    const ms = (await a?.said("started"))?.ms ?? 0;
    await until("1,000 jobs", () => a?.begun.length === 1_000);
    a?.words.splice(0, a.words.length);
    a?.send({ weigh: true });
    const perJob = (((await a?.said("weight"))?.weight ?? 0) - before) / 1_000;
    report(`${Math.round(1_000_000 / ms)} starts/s, ${(perJob / 1_024).toFixed(1)} KB per waiting job`);
    expect(perJob).toBeLessThan(64 * 1_024);
    const killedAt = Date.now();
    a?.kill("SIGKILL");
    await until("1,000 jobs again", () => b?.begun.length === 1_000, { timeoutMs: 45_000 });
    report(`1,000 jobs taken over after ${(b?.begun.at(-1)?.at ?? 0) - killedAt} ms`);
  }));
