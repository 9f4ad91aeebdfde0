/** The store contract of the job queue. */
import { expect, test } from "vitest";

import type { TurnJob } from "../../src/store/ports/jobs.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { type MakeStore, newSession, newTenant, unique } from "./harness.ts";
import { suite } from "./suite.ts";

const TEXT = { label: "", description: "", inputs: ["text" as const] };

/** Each test has an agent of its own, so that it fetches only its own jobs. */
async function newAgent(store: ClosableStore): Promise<string> {
  const name = unique("agent/ä ");
  await store.agents.register([{ name, ...TEXT }]);
  return name;
}

export function jobsContract(name: string, makeStore: MakeStore): void {
  suite(name, "jobs", makeStore, (store, advance) => {
    const add = (ref: SessionRef, agent: string | null, id = unique("m")) =>
      store().queuedMessages.add(ref, { id, text: id, ...(agent !== null && { options: { agent } }) });
    const queued = async (agent: string) => {
      const { ref } = await newSession(store());
      await add(ref, agent);
      return ref;
    };
    const sessionOf = async (tenant: string, user: string): Promise<SessionRef> => {
      const session = unique("session");
      await store().sessions.create({ tenant, user }, { id: session });
      return { tenant, session };
    };
    const fetch = (
      agent: string,
      { limit = 100, alone = false, skipTenants = [] as string[], executor = "w" } = {},
    ) => store().jobs.fetch({ executor, agents: [agent], limit, alone, skipTenants });
    const start = (job: TurnJob, executor = "w", agents = [job.agent ?? ""]) =>
      store().running.start(job, { executor, turn: unique("turn"), agents });
    const fetchOne = async (agent: string, options = {}): Promise<TurnJob> => {
      const [job] = await fetch(agent, { limit: 1, ...options });
      if (job === undefined) throw new Error("no job");
      return job;
    };
    const run = async (agent: string, executor = "w") => {
      const job = await fetchOne(agent, { executor });
      const turn = await start(job, executor);
      if (turn === null) throw new Error("nothing to run");
      return { job, turn, ref: { tenant: job.tenant, session: job.session } };
    };

    test("a message queues one job, and the next job follows when the turn ends", async () => {
      const agent = await newAgent(store());
      const { ref, actor } = await newSession(store());
      await add(ref, agent, "a");
      await add(ref, agent, "b");
      expect(await add(ref, agent, "a")).toBe("already");
      const jobs = await fetch(agent);
      expect(jobs).toMatchObject([{ ...ref, agent, user: actor.user, deaths: 0, alone: false }]);
      expect(await fetch(agent)).toEqual([]);
      const [job] = jobs as [TurnJob];
      const turn = await store().running.start(job, { executor: "w", turn: "t1", agents: [agent] });
      expect(turn).toMatchObject({ ...ref, turn: "t1", message: { id: "a" }, attempts: 1, deaths: 0 });
      expect(turn).toMatchObject({ attemptsWithoutProgress: 1, user: actor.user });
      await add(ref, agent, "c");
      expect(await fetch(agent)).toEqual([]);
      expect(await store().running.end(ref, "t1")).toEqual({ queuedFor: agent });
      const next = await fetchOne(agent);
      expect(next.id).not.toBe(job.id);
      expect(await start(next)).toMatchObject({ message: { id: "b" }, attempts: 1 });
      expect(await fetch(agent)).toEqual([]);
    });

    test("a job is fetched by workers of its agent only", async () => {
      const [one, other] = [await newAgent(store()), await newAgent(store())];
      await queued(one);
      expect(await fetch(other)).toEqual([]);
      const both = { executor: "w", agents: [other, one], limit: 5, alone: false };
      expect(await store().jobs.fetch(both)).toMatchObject([{ agent: one }]);
    });

    test("a turn of an unknown agent is fetched by every worker", async () => {
      const { ref } = await newSession(store());
      await add(ref, unique("unknown"));
      const jobs = await store().jobs.fetch({ executor: "w", agents: [null], limit: 1000, alone: false });
      const job = jobs.find(({ session }) => session === ref.session);
      expect(job).toMatchObject({ agent: null });
      expect(await start(job as TurnJob)).toMatchObject({ attempts: 1 });
    });

    test("a job moves to the queue of the agent that its message needs", async () => {
      const [one, other] = [await newAgent(store()), await newAgent(store())];
      const { ref } = await newSession(store());
      await add(ref, one, "a");
      await add(ref, other, "b");
      const job = await fetchOne(one);
      await store().queuedMessages.remove(ref, "a");
      expect(await start(job)).toBeNull();
      expect(await fetch(one)).toEqual([]);
      expect(await start(await fetchOne(other))).toMatchObject({ message: { id: "b" } });
    });

    test("a job without a message is completed", async () => {
      const agent = await newAgent(store());
      const ref = await queued(agent);
      const job = await fetchOne(agent);
      await store().queuedMessages.take(ref);
      expect(await start(job)).toBeNull();
      expect(await store().jobs.heartbeat([job])).toEqual([job.id]);
      await add(ref, agent);
      expect(await fetch(agent)).toHaveLength(1);
    });

    test("a removed message leaves the job to the next one, if there is one", async () => {
      const agent = await newAgent(store());
      const { ref } = await newSession(store());
      await add(ref, agent, "a");
      await add(ref, agent, "b");
      await store().queuedMessages.remove(ref, "a");
      expect(await start(await fetchOne(agent))).toMatchObject({ message: { id: "b" } });
      const alone = await queued(agent);
      for (const { id } of await store().queuedMessages.list(alone))
        await store().queuedMessages.remove(alone, id);
      expect(await fetch(agent)).toEqual([]);
    });

    test("a retry queues a job, before queued messages", async () => {
      const agent = await newAgent(store());
      const ref = await queued(agent);
      const options = { agent };
      await store().running.begin(ref, { turn: "t2", retries: "t1", options });
      expect(await start(await fetchOne(agent))).toMatchObject({ turn: "t2", retries: "t1", attempts: 1 });
      expect(await fetch(agent)).toEqual([]);
      await store().running.end(ref, "t2");
      expect(await start(await fetchOne(agent))).toMatchObject({ retries: null });
    });

    test("tenants take turns, and so do the users of a tenant", async () => {
      const agent = await newAgent(store());
      const [busy, calm] = [await newTenant(store()), await newTenant(store())];
      const many = async (tenant: string, user: string, count: number) => {
        for (let n = 0; n < count; n++) await add(await sessionOf(tenant, user), agent);
      };
      await many(busy, "greedy", 20);
      await many(busy, "modest", 2);
      await many(calm, "lone", 3);
      const order = (await fetch(agent)).map(({ user }) => user);
      expect(order).toHaveLength(25);
      expect(order.slice(0, 2).toSorted()).toEqual(["greedy", "lone"]);
      expect(order.lastIndexOf("lone")).toBeLessThan(9);
      expect(order.lastIndexOf("modest")).toBeLessThan(9);
    });

    test("a tenant that always has one queued job does not overtake another for ever", async () => {
      const agent = await newAgent(store());
      const [busy, steady] = [await newTenant(store()), await newTenant(store())];
      for (let n = 0; n < 10; n++) await add(await sessionOf(busy, "b"), agent);
      const order: string[] = [];
      for (let n = 0; n < 30; n++) {
        if (!order.includes(busy) || order.filter((one) => one === busy).length < 10)
          await add(await sessionOf(steady, "s"), agent);
        const [job] = await fetch(agent, { limit: 1 });
        if (job === undefined) break;
        const turn = await start(job);
        order.push(job.tenant);
        // Each turn runs while the next one starts.
        if (turn !== null && n % 2 === 1) await store().running.end(job, turn.turn);
      }
      expect(order.slice(0, 22).filter((one) => one === busy).length).toBeGreaterThanOrEqual(8);
      expect(order.slice(0, 22).filter((one) => one === steady).length).toBeGreaterThanOrEqual(8);
    });

    test("leaves the jobs of skipped tenants to others", async () => {
      const agent = await newAgent(store());
      const [one, other] = [await queued(agent), await queued(agent)];
      expect(await fetch(agent, { skipTenants: [one.tenant] })).toMatchObject([other]);
      expect(await fetch(agent)).toMatchObject([one]);
    });

    test("16 callers add messages, fetch and end turns: no message is lost, none runs twice", async () => {
      const agent = await newAgent(store());
      const refs = await Promise.all(Array.from({ length: 4 }, async () => (await newSession(store())).ref));
      const ran: string[] = [];
      let open = 16 * 5;
      const sender = async (n: number): Promise<void> => {
        for (let k = 0; k < 5; k++) {
          await add(refs[(n + k) % refs.length] as SessionRef, agent, `m${n}-${k}`);
          open -= 1;
        }
      };
      const worker = async (n: number): Promise<void> => {
        for (let idle = 0; idle < 5;) {
          const jobs = await fetch(agent, { limit: 2, executor: `w${n}` });
          for (const job of jobs) {
            const turn = await start(job, `w${n}`);
            if (turn === null) continue;
            ran.push(turn.message?.id ?? "");
            expect(await store().running.end(turn, turn.turn)).not.toBe("over");
          }
          idle = jobs.length > 0 || open > 0 ? 0 : idle + 1;
        }
      };
      const numbers = Array.from({ length: 16 }, (_, n) => n);
      await Promise.all([...numbers.map(sender), ...numbers.map(worker)]);
      expect(new Set(ran).size).toBe(ran.length);
      expect(ran).toHaveLength(80);
      expect(await fetch(agent)).toEqual([]);
    });

    test("a parked turn has no job until a decision, a stop or its time", async () => {
      const agent = await newAgent(store());
      await queued(agent);
      const first = await run(agent);
      const { ref, turn } = first;
      expect(await store().running.wake(ref)).toBe(false);
      expect(await store().running.park(first.job, "other", { wakeAt: null })).toBe(false);
      expect(await store().running.park(first.job, turn.turn, { wakeAt: null })).toBe(true);
      expect(await store().running.park(first.job, turn.turn, { wakeAt: null })).toBe(false);
      expect(await store().jobs.heartbeat([first.job])).toEqual([first.job.id]);
      expect(await store().jobs.recover("w", { limit: 100 })).toBeGreaterThanOrEqual(0);
      await add(ref, agent, "later");
      expect(await fetch(agent)).toEqual([]);
      expect(await store().running.interrupted([ref])).toEqual([]);
      const woken = await Promise.all(Array.from({ length: 8 }, () => store().running.wake(ref)));
      expect(woken.filter(Boolean)).toHaveLength(1);
      expect(await store().running.interrupted([ref])).toEqual([]);
      const second = await run(agent);
      expect(second.turn).toMatchObject({ turn: turn.turn, attempts: 2, deaths: 0 });
      await store().running.park(second.job, turn.turn, { wakeAt: null });
      expect(await store().running.requestStop(ref, {})).toMatchObject({ receipt: "stopping" });
      const third = await run(agent);
      expect(third.turn).toMatchObject({ turn: turn.turn, attempts: 3, stop: { by: null } });
      // A turn that was stopped meanwhile is not left parked.
      expect(await store().running.park(third.job, turn.turn, { wakeAt: null })).toBe(true);
      await run(agent);
      await store().running.end(ref, turn.turn);
      expect((await run(agent)).turn).toMatchObject({ message: { id: "later" } });
    });

    test("a parked turn gets a job at its wake-up time, once", async () => {
      const agent = await newAgent(store());
      await queued(agent);
      const first = await run(agent);
      const { ref, turn } = first;
      await store().running.park(first.job, turn.turn, { wakeAt: Date.UTC(2100, 1) });
      await store().jobs.wakeDue({ limit: 100 });
      expect(await fetch(agent)).toEqual([]);
      expect(await store().running.wake(ref)).toBe(true);
      const second = await run(agent);
      await store().running.park(second.job, turn.turn, { wakeAt: 1 });
      const woken = await Promise.all([1, 2, 3].map(() => store().jobs.wakeDue({ limit: 100 })));
      expect(woken.toSorted((a, b) => a - b)).toEqual([0, 0, 1]);
      expect((await run(agent)).turn).toMatchObject({ turn: turn.turn, attempts: 3 });
    });

    test("a decision during `park` is never lost", async () => {
      const agent = await newAgent(store());
      for (let n = 0; n < 20; n++) {
        await queued(agent);
        const { job, ref, turn } = await run(agent);
        let isDecided = false;
        const parking = store().transaction(async (tx) => {
          const isParked = await tx.running.park(job, turn.turn, { wakeAt: null });
          // What the runtime does: it reads the decisions after `park`, under the lock.
          if (isParked && isDecided) await tx.running.wake(ref);
        });
        const deciding = store().transaction(async (tx) => {
          isDecided = true;
          await tx.running.wake(ref);
        });
        await Promise.all(n % 2 === 0 ? [parking, deciding] : [deciding, parking]);
        expect(await fetch(agent)).toMatchObject([ref]);
      }
    });

    test("recovers the turns of a dead process in slices, and counts their deaths", async () => {
      const agent = await newAgent(store());
      const [dead, other] = [unique("exec"), unique("exec")];
      for (let n = 0; n < 5; n++) await queued(agent);
      for (let n = 0; n < 4; n++) await run(agent, dead);
      const remaining = await run(agent, other);
      const left = await store().jobs.left(dead, { limit: 10 });
      expect(left).toHaveLength(4);
      expect(await store().jobs.left(dead, { limit: 2 })).toEqual(left.slice(0, 2));
      const slices = await Promise.all([1, 2].map(() => store().jobs.recover(dead, { limit: 1 })));
      expect(slices).toEqual([1, 1]);
      expect(await store().jobs.recover(dead, { limit: 10 })).toBe(2);
      expect(await store().jobs.recover(dead, { limit: 10 })).toBe(0);
      const jobs = await fetch(agent);
      expect(jobs).toHaveLength(4);
      expect(jobs.every(({ deaths, alone }) => deaths === 1 && !alone)).toBe(true);
      expect(await start(jobs[0] as TurnJob, other)).toMatchObject({ deaths: 1, attempts: 2 });
      expect(await store().jobs.heartbeat([remaining.job])).toEqual([]);
    });

    test("a turn runs alone after two deaths, later after each, and can be buried and retried", async () => {
      const agent = await newAgent(store());
      const ref = await queued(agent);
      const [dead] = [unique("exec")];
      let { turn } = await run(agent, dead);
      for (const deaths of [1, 2, 3]) {
        await store().jobs.recover(dead, { limit: 10 });
        const alone = deaths >= 2;
        // The second death delays the job by 1 s, which a busy machine may exceed.
        if (deaths === 3) expect(await fetch(agent, { alone })).toEqual([]);
        await advance([0, 0, 1_100, 2_100][deaths] ?? 0);
        expect(await fetch(agent, { alone: !alone })).toEqual([]);
        const job = await fetchOne(agent, { alone });
        expect(job).toMatchObject({ ...ref, agent, deaths, alone });
        expect(await store().jobs.heartbeat([job])).toEqual([]);
        const again = await start(job, dead);
        expect(again).toMatchObject({ turn: turn.turn, deaths });
        if (again !== null) turn = again;
      }
      await store().transaction(async (tx) => {
        await tx.jobs.bury(ref, turn.turn);
        await tx.running.end(ref, turn.turn);
      });
      const buried = (await store().jobs.dead({ limit: 100 })).filter((one) => one.session === ref.session);
      expect(buried).toMatchObject([{ ...ref, turn: turn.turn, agent, deaths: 3, user: turn.user }]);
      await store().running.begin(ref, { turn: "again", retries: turn.turn, options: { agent } });
      expect((await store().jobs.dead({ limit: 100 })).some((one) => one.session === ref.session)).toBe(
        false,
      );
      expect((await run(agent)).turn).toMatchObject({ turn: "again", deaths: 0 });
    });

    test("a turn in which a tool ran at the death of its process runs alone once", async () => {
      const agent = await newAgent(store());
      const ref = await queued(agent);
      await queued(agent);
      const dead = unique("exec");
      for (let n = 0; n < 2; n++) await run(agent, dead);
      await store().jobs.recover(dead, { limit: 10, withTool: [ref] });
      const [other] = await fetch(agent);
      expect(other).not.toMatchObject(ref);
      const job = await fetchOne(agent, { alone: true });
      expect(job).toMatchObject({ ...ref, deaths: 1, alone: true });
      expect(await store().jobs.heartbeat([job])).toEqual([]);
      expect(await start(job)).toMatchObject({ deaths: 1 });
      // The worker that ran it alone leaves: nothing has ended a process.
      await store().jobs.release([job]);
      expect(await fetchOne(agent)).toMatchObject({ ...ref, alone: false });
    });

    test("if many turns are suspected, they run together until their third death", async () => {
      const agent = await newAgent(store());
      const all: SessionRef[] = [];
      for (let n = 0; n < 5; n++) all.push(await queued(agent));
      const dead = unique("exec");
      for (let n = 0; n < 5; n++) await run(agent, dead);
      for (const [n, delayMs] of [0, 1_100, 2_100].entries()) {
        expect(await store().jobs.recover(dead, { limit: 10, withTool: all })).toBe(5);
        await advance(delayMs);
        if (n < 2) for (const job of await fetch(agent)) await start(job, dead);
      }
      expect(await fetch(agent)).toEqual([]);
      for (let n = 0; n < 5; n++) {
        const job = await fetchOne(agent, { alone: true });
        await store().running.end(job, (await start(job))?.turn ?? "");
      }
    });

    test("the most suspected turn runs alone, also if many others died with it twice", async () => {
      const agent = await newAgent(store());
      const bad = await queued(agent);
      for (let n = 0; n < 4; n++) await queued(agent);
      const dead = unique("exec");
      for (let n = 0; n < 5; n++) await run(agent, dead);
      await store().jobs.recover(dead, { limit: 10 });
      for (const job of await fetch(agent)) await start(job, dead);
      await store().jobs.recover(dead, { limit: 10, withTool: [bad] });
      await advance(1_100);
      const shared = await fetch(agent);
      expect(shared).toHaveLength(4);
      const job = await fetchOne(agent, { alone: true });
      expect(job).toMatchObject({ ...bad, deaths: 2 });
      for (const one of [job, ...shared]) await store().running.end(one, (await start(one))?.turn ?? "");
    });

    test("released jobs can be fetched immediately, and no death is counted", async () => {
      const agent = await newAgent(store());
      await queued(agent);
      await queued(agent);
      const { job, turn } = await run(agent);
      const unstarted = await fetchOne(agent);
      await store().jobs.release([job, unstarted]);
      expect(await store().jobs.heartbeat([job])).toEqual([job.id]);
      const again = await fetch(agent);
      expect(again.map(({ session }) => session).toSorted()).toEqual(
        [job.session, unstarted.session].toSorted(),
      );
      const same = again.find(({ session }) => session === job.session) as TurnJob;
      expect(await start(same, "other")).toMatchObject({ turn: turn.turn, deaths: 0, attempts: 2 });
      // The process that released the job can neither park nor return it again.
      expect(await store().running.park(job, turn.turn, { wakeAt: null })).toBe(false);
      await store().jobs.release([job]);
      expect(await store().jobs.heartbeat([same])).toEqual([]);
      await store().jobs.release([same], { delayMs: 60_000 });
      expect((await fetch(agent)).map(({ session }) => session)).not.toContain(job.session);
    });

    test("a job that two processes have fetched runs once", async () => {
      const agent = await newAgent(store());
      await queued(agent);
      const job = await fetchOne(agent);
      const started = await Promise.all(["a", "b", "c"].map((executor) => start(job, executor)));
      expect(started.filter((turn) => turn !== null)).toHaveLength(1);
      expect(await fetch(agent)).toEqual([]);
    });

    test("a job is deleted with its session, its user and its tenant", async () => {
      const agent = await newAgent(store());
      const erase = [
        async (ref: SessionRef) => void (await store().sessions.remove(ref)),
        async ({ tenant }: SessionRef, user: string) =>
          void (await store().sessions.removeUser(tenant, user)),
        async ({ tenant }: SessionRef) => void (await store().tenants.remove(tenant)),
      ];
      for (const one of erase) {
        const { ref, actor } = await newSession(store());
        await add(ref, agent);
        await one(ref, actor.user);
        expect(await fetch(agent)).toEqual([]);
        const { ref: locked, actor: owner } = await newSession(store());
        await add(locked, agent);
        const job = await fetchOne(agent);
        await one(locked, owner.user);
        expect(await start(job)).toBeNull();
        const { ref: left, actor: last } = await newSession(store());
        await add(left, agent);
        const executor = unique("exec");
        await run(agent, executor);
        await store().jobs.recover(executor, { limit: 1 });
        await one(left, last.user);
        expect(await fetch(agent)).toEqual([]);
      }
    });

    test("counts queued and running turns by agent", async () => {
      const agent = await newAgent(store());
      for (let n = 0; n < 3; n++) await queued(agent);
      await run(agent);
      const counts = await store().jobs.counts();
      expect(counts.find((one) => one.agent === agent)).toEqual({ agent, queued: 2, running: 1 });
    });

    test("every worker fetches the jobs of an agent that was removed, also of turns that were started", async () => {
      const agent = await newAgent(store());
      const started = await queued(agent);
      const { job } = await run(agent);
      await store().jobs.release([job]);
      const message = await queued(agent);
      await store().agents.remove(agent);
      await advance(6_000);
      await store().jobs.maintain();
      const fetched = await store().jobs.fetch({ executor: "w", agents: [null], limit: 1_000, alone: false });
      for (const ref of [started, message]) {
        const found = fetched.find(({ session }) => session === ref.session);
        if (found === undefined) throw new Error("the job was not fetched");
        expect(found.agent).toBeNull();
        expect(await start(found, "w", ["another"])).toMatchObject(ref);
      }
      await store().jobs.release(fetched);
    });

    test("a job returns to the queue if its process never starts it and sends no heartbeat", async () => {
      const agent = await newAgent(store());
      await queued(agent);
      const job = await fetchOne(agent);
      await advance(9_000);
      expect(await store().jobs.heartbeat([job])).toEqual([]);
      await advance(9_000);
      await store().jobs.maintain();
      expect(await fetch(agent)).toEqual([]);
      await advance(16_000);
      await store().jobs.maintain();
      const again = await fetchOne(agent);
      expect(again).toMatchObject({ session: job.session, deaths: 0 });
      expect(await start(again, "other")).toMatchObject({ attempts: 1, deaths: 0 });
      expect(await start(job)).toBeNull();
    });
  });
}
