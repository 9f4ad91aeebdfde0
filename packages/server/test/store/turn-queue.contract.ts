/** The store contract of the queue of turns. */
import { expect, test } from "vitest";

import { type HeldTurn, MAX_ALONE_WAIT_MS, type StartedTurn } from "../../src/store/turn-queue.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { type MakeStore, newSession, newTenant, unique, isWhole } from "./harness.ts";
import { YEAR_MS } from "./start-turn.ts";
import { suite } from "./suite.ts";

const TEXT = { label: "", description: "", inputs: ["text" as const] };

/** Each test has an agent of its own, so that it starts only its own turns. */
async function newAgent(store: ClosableStore): Promise<string> {
  const name = unique("agent/ä ");
  await store.agents.register([{ name, ...TEXT }]);
  return name;
}

function refOf({ tenant, session }: SessionRef): SessionRef {
  return { tenant, session };
}

export function turnQueueContract(name: string, makeStore: MakeStore): void {
  suite(name, "the queue of turns", makeStore, (store, advance) => {
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
    /** Turns of other tests and of messages without an agent stay in the queue. */
    const start = async (
      agent: string,
      { limit = 100, isIdle = false, skipTenants = [] as string[], executor = "w" } = {},
    ): Promise<StartedTurn[]> => {
      await store().leases.take(executor, YEAR_MS);
      return store().queue.start({ executor, agents: [agent], limit, isIdle, skipTenants });
    };
    const run = async (agent: string, options = {}): Promise<StartedTurn> => {
      const [turn] = await start(agent, { limit: 1, ...options });
      if (turn === undefined) throw new Error("nothing to run");
      return turn;
    };
    const end = ({ row }: StartedTurn) => store().queue.end(row, row.turn);

    test("a message queues one turn, and the next one follows when the turn ends", async () => {
      const agent = await newAgent(store());
      const { ref, actor } = await newSession(store());
      await add(ref, agent, "a");
      await add(ref, agent, "b");
      expect(await add(ref, agent, "a")).toBe("already");
      const turns = await start(agent);
      expect(turns).toMatchObject([
        { held: { ...ref, executor: "w" }, row: { ...ref, message: { id: "a" } } },
      ]);
      const [first] = turns as [StartedTurn];
      expect(first.row).toMatchObject({
        user: actor.user,
        attempts: 1,
        attemptsWithoutProgress: 1,
        deaths: 0,
      });
      expect(await store().running.get(ref)).toEqual(first.row);
      expect((await store().sessions.find(ref))?.epoch).toBe(first.held.epoch);
      await add(ref, agent, "c");
      expect(await start(agent)).toEqual([]);
      expect(await end(first)).toEqual({ queuedFor: agent });
      expect(await end(first)).toBe("over");
      const next = await run(agent);
      expect(next.row).toMatchObject({ message: { id: "b" }, attempts: 1 });
      expect(next.row.turn).not.toBe(first.row.turn);
      expect(next.held.epoch).toBeGreaterThan(first.held.epoch);
      expect(await start(agent)).toEqual([]);
    });

    test("a turn takes its message with all its data", async () => {
      const agent = await newAgent(store());
      const { actor, ref } = await newSession(store());
      const files = [{ url: "https://example.com/a" }];
      const options = { agent, odd: "\0 \ud800", deep: [1, { a: null }] };
      const limits = { tokensPerDay: 5, tokensPerMonth: null, costPerDay: 0.5, costPerMonth: null };
      const caller = { apiKey: "key", usageLimits: { user: limits, key: limits, tenant: limits } };
      const first = { id: "z", text: "first \0 \ud800", files, by: "an", resumes: "f1", options, ...caller };
      await store().queuedMessages.add(ref, first);
      await store().queuedMessages.add(ref, { id: "a", text: "second" });
      const [shown] = await store().queuedMessages.list(ref);
      for (const hidden of ["options", "apiKey", "usageLimits"]) expect(shown).not.toHaveProperty(hidden);
      const { row } = await run(agent);
      expect(row).toEqual({
        ...ref,
        user: actor.user,
        turn: expect.any(String) as string,
        message: shown,
        retries: null,
        options,
        startedAt: expect.any(Number) as number,
        attempts: 1,
        attemptsWithoutProgress: 1,
        deaths: 0,
        stop: null,
        ...caller,
      });
      expect(await store().running.get(ref)).toEqual(row);
      expect((await store().queuedMessages.list(ref)).map(({ id }) => id)).toEqual(["a"]);
      expect(await store().queuedMessages.add(ref, first)).toBe("already");
    });

    test("turns are started by processes of their agent only", async () => {
      const [one, other] = [await newAgent(store()), await newAgent(store())];
      const ref = await queued(one);
      expect(await start(other)).toEqual([]);
      const both = { executor: "w", agents: [other, one], limit: 5, isIdle: false };
      expect(await store().queue.start(both)).toMatchObject([{ held: ref }]);
    });

    test("every process starts turns of unknown and of removed agents, also those that ran before", async () => {
      const agent = await newAgent(store());
      const started = await queued(agent);
      await store().queue.release([(await run(agent)).held]);
      const message = await queued(agent);
      const { ref: unknown } = await newSession(store());
      await add(unknown, unique("unknown"));
      await store().agents.remove(agent);
      const turns = await start("another", { limit: 1_000 });
      for (const ref of [started, message, unknown])
        expect(turns.some(({ held }) => held.session === ref.session)).toBe(true);
      await Promise.all(turns.map(end));
    });

    test("a removed message leaves the turn to the next one, with its agent", async () => {
      const [one, other] = [await newAgent(store()), await newAgent(store())];
      const { ref } = await newSession(store());
      await add(ref, one, "a");
      await add(ref, other, "b");
      await store().queuedMessages.remove(ref, "a");
      expect(await start(one)).toEqual([]);
      expect((await run(other)).row).toMatchObject({ message: { id: "b" } });
      const only = await queued(one);
      for (const { id } of await store().queuedMessages.list(only))
        await store().queuedMessages.remove(only, id);
      expect(await start(one)).toEqual([]);
      await add(only, one);
      expect(await start(one)).toHaveLength(1);
    });

    test("a retry runs before queued messages, with its own options", async () => {
      const agent = await newAgent(store());
      const ref = await queued(agent);
      const retry = { turn: "t2", retries: "t1", options: { agent }, apiKey: "key" };
      const turn = await store().queue.retry(ref, retry);
      expect(turn).toMatchObject({
        turn: "t2",
        retries: "t1",
        message: null,
        options: { agent },
        attempts: 0,
      });
      expect(await store().queue.retry(ref, retry)).toBeNull();
      const started = await run(agent);
      expect(started.row).toEqual({ ...turn, attempts: 1, attemptsWithoutProgress: 1 });
      expect(await start(agent)).toEqual([]);
      expect(await store().queue.retry(ref, retry)).toBeNull();
      expect(await end(started)).toEqual({ queuedFor: agent });
      expect((await run(agent)).row).toMatchObject({ retries: null });
      const foreign = { ...ref, tenant: await newTenant(store()) };
      await expect(store().queue.retry(foreign, retry)).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    test("one of many concurrent retries wins", async () => {
      const { ref } = await newSession(store());
      const options = { agent: await newAgent(store()) };
      const retry = (n: number) => store().queue.retry(ref, { turn: `t${n}`, retries: "t", options });
      const retries = Array.from({ length: 20 }, (_, n) => retry(n));
      expect((await Promise.all(retries)).filter((turn) => turn !== null)).toHaveLength(1);
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
      const order = (await start(agent)).map(({ row }) => row.user);
      expect(order).toHaveLength(25);
      expect(order.slice(0, 2).toSorted()).toEqual(["greedy", "lone"]);
      expect(order.lastIndexOf("lone")).toBeLessThan(9);
      expect(order.lastIndexOf("modest")).toBeLessThan(9);
    });

    test("a tenant that always has one queued turn does not overtake another for ever", async () => {
      const agent = await newAgent(store());
      const [busy, steady] = [await newTenant(store()), await newTenant(store())];
      for (let n = 0; n < 10; n++) await add(await sessionOf(busy, "b"), agent);
      const order: string[] = [];
      for (let n = 0; n < 30; n++) {
        if (order.filter((one) => one === busy).length < 10) await add(await sessionOf(steady, "s"), agent);
        const [turn] = await start(agent, { limit: 1 });
        if (turn === undefined) break;
        order.push(turn.held.tenant);
        // Each turn runs while the next one starts.
        if (n % 2 === 1) await end(turn);
      }
      expect(order.slice(0, 22).filter((one) => one === busy).length).toBeGreaterThanOrEqual(8);
      expect(order.slice(0, 22).filter((one) => one === steady).length).toBeGreaterThanOrEqual(8);
    });

    test("leaves the turns of skipped tenants to others", async () => {
      const agent = await newAgent(store());
      const [one, other] = [await queued(agent), await queued(agent)];
      expect(await start(agent, { skipTenants: [one.tenant] })).toMatchObject([{ held: other }]);
      expect(await start(agent)).toMatchObject([{ held: one }]);
    });

    test("16 callers add and remove messages, start and end turns: none is lost, none runs twice", async () => {
      const agent = await newAgent(store());
      const refs = await Promise.all(Array.from({ length: 4 }, async () => (await newSession(store())).ref));
      const [ran, removed]: [string[], string[]] = [[], []];
      let open = 16 * 5;
      const sender = async (n: number): Promise<void> => {
        for (let k = 0; k < 5; k++) {
          const ref = refs[(n + k) % refs.length] as SessionRef;
          await add(ref, agent, `m${n}-${k}`);
          if (k === 4 && (await store().queuedMessages.remove(ref, `m${n}-${k}`))) removed.push(`m${n}-${k}`);
          open -= 1;
        }
      };
      const worker = async (n: number): Promise<void> => {
        for (let idle = 0; idle < 5;) {
          const turns = await start(agent, { limit: 2, executor: `w${n}` });
          for (const turn of turns) {
            ran.push(turn.row.message?.id ?? "");
            expect(await end(turn)).not.toBe("over");
          }
          idle = turns.length > 0 || open > 0 ? 0 : idle + 1;
        }
      };
      const numbers = Array.from({ length: 16 }, (_, n) => n);
      await Promise.all([...numbers.map(sender), ...numbers.map(worker)]);
      expect(new Set(ran).size).toBe(ran.length);
      expect(ran.length + removed.length).toBe(80);
      expect(ran.filter((id) => removed.includes(id))).toEqual([]);
      expect(await start(agent)).toEqual([]);
    });

    test("further attempts get higher epochs, and count unless they are told not to", async () => {
      const agent = await newAgent(store());
      await queued(agent);
      const { held, row } = await run(agent);
      const { epoch } = held;
      expect(await store().queue.again({ ...held, executor: "other" })).toBeNull();
      expect(await store().queue.again({ ...held, epoch: epoch - 1 })).toBeNull();
      expect(await store().queue.again(held)).toEqual({ ...row, attempts: 2, attemptsWithoutProgress: 2 });
      expect(held.epoch).toBeGreaterThan(epoch);
      expect(await store().queue.again(held, { seen: epoch + 100, isCounted: false })).toMatchObject({
        attempts: 2,
      });
      expect(held.epoch).toBeGreaterThan(epoch + 100);
      expect(await store().queue.held("w")).toContainEqual(held);
      await store().queue.end(held, row.turn);
      expect(await store().queue.again(held)).toBeNull();
    });

    test("epochs grow by random steps, so that a store that has lost one doesn't issue it again", async () => {
      const agent = await newAgent(store());
      const steps = new Set<number>();
      for (let n = 0; n < 4; n++) {
        const ref = await queued(agent);
        const { epoch: before = 0 } = (await store().sessions.find(ref)) ?? {};
        const { held } = await run(agent);
        const { epoch } = held;
        await store().queue.again(held);
        for (const step of [epoch - before, held.epoch - epoch]) {
          expect(step).toBeGreaterThanOrEqual(1);
          expect(step).toBeLessThanOrEqual(65_536);
          steps.add(step);
        }
      }
      expect(steps.size).toBeGreaterThan(2);
    });

    test("counts attempts without progress until one journals something, and forgives those in good order", async () => {
      const agent = await newAgent(store());
      await queued(agent);
      const { held, row } = await run(agent);
      const ref = refOf(held);
      const again = async () => (await store().queue.again(held))?.attemptsWithoutProgress;
      const journal = (turn: string, key: string) =>
        store().journal.write(ref, { turn, key, value: 1, epoch: held.epoch });
      expect([await again(), await again()]).toEqual([2, 3]);
      await journal("earlier", "a");
      expect(await again()).toBe(4);
      await journal(row.turn, "a");
      expect([await again(), await again()]).toEqual([1, 2]);
      // Writing the same entry again is no progress.
      await journal(row.turn, "a");
      expect(await again()).toBe(3);
      const { attempts } = (await store().running.get(ref)) ?? { attempts: 0 };
      await store().running.forgive(ref, { turn: row.turn, attempts: attempts - 1 });
      await store().running.forgive(ref, { turn: "other", attempts });
      await store().running.forgive({ ...ref, tenant: "else" }, { turn: row.turn, attempts });
      expect(await store().running.get(ref)).toMatchObject({ attemptsWithoutProgress: 3 });
      await store().running.forgive(ref, { turn: row.turn, attempts });
      expect(await store().running.get(ref)).toMatchObject({ attemptsWithoutProgress: 2 });
    });

    test("a turn that waits for a user is not started until a decision, a stop or its time", async () => {
      const agent = await newAgent(store());
      await queued(agent);
      const { held, row } = await run(agent);
      const ref = refOf(held);
      expect(await store().queue.wake(ref)).toBe(false);
      expect(await store().queue.park(held, "other", { wakeAt: null })).toBe(false);
      expect(await store().queue.park(held, row.turn, { wakeAt: null })).toBe(true);
      expect(await store().queue.park(held, row.turn, { wakeAt: null })).toBe(false);
      expect(await store().running.get(ref)).toMatchObject({ attempts: 1, attemptsWithoutProgress: 0 });
      expect((await store().queue.held("w")).some(({ session }) => session === ref.session)).toBe(false);
      await add(ref, agent, "later");
      expect(await start(agent)).toEqual([]);
      expect(await store().running.interrupted([ref])).toEqual([]);
      const woken = await Promise.all(Array.from({ length: 8 }, () => store().queue.wake(ref)));
      expect(woken.filter(Boolean)).toHaveLength(1);
      expect(await store().running.interrupted([ref])).toEqual([]);
      const second = await run(agent);
      expect(second.row).toMatchObject({ turn: row.turn, attempts: 2, deaths: 0 });
      await store().queue.park(second.held, row.turn, { wakeAt: null });
      expect(await store().running.requestStop(ref, {})).toMatchObject({ receipt: "stopping" });
      const third = await run(agent);
      expect(third.row).toMatchObject({ turn: row.turn, attempts: 3, stop: { by: null } });
      // A turn that was stopped meanwhile is not left parked.
      expect(await store().queue.park(third.held, row.turn, { wakeAt: null })).toBe(true);
      await end(await run(agent));
      expect((await run(agent)).row).toMatchObject({ message: { id: "later" } });
    });

    test("a turn that waits for a user is started at its wake-up time, once", async () => {
      const agent = await newAgent(store());
      await queued(agent);
      const first = await run(agent);
      await store().queue.park(first.held, first.row.turn, { wakeAt: Date.UTC(2100, 1) });
      await store().queue.wakeDue({ limit: 100 });
      expect(await start(agent)).toEqual([]);
      expect(await store().queue.wake(first.held)).toBe(true);
      const second = await run(agent);
      await store().queue.park(second.held, first.row.turn, { wakeAt: 1 });
      const woken = await Promise.all([1, 2, 3].map(() => store().queue.wakeDue({ limit: 100 })));
      expect(woken.toSorted((a, b) => a - b)).toEqual([0, 0, 1]);
      expect((await run(agent)).row).toMatchObject({ turn: first.row.turn, attempts: 3 });
    });

    test("a decision during `park` is never lost", async () => {
      const agent = await newAgent(store());
      for (let n = 0; n < 20; n++) {
        await queued(agent);
        const { held, row } = await run(agent);
        let isDecided = false;
        const parking = store().transaction(async (tx) => {
          const isParked = await tx.queue.park(held, row.turn, { wakeAt: null });
          // What the runtime does: it reads the decisions after `park`, under the lock.
          if (isParked && isDecided) await tx.queue.wake(held);
        });
        const deciding = store().transaction(async (tx) => {
          isDecided = true;
          await tx.queue.wake(held);
        });
        await Promise.all(n % 2 === 0 ? [parking, deciding] : [deciding, parking]);
        expect(await start(agent)).toMatchObject([{ held: refOf(held) }]);
      }
    });

    test("recovers the turns of a dead process in slices, and counts their deaths", async () => {
      const agent = await newAgent(store());
      const [dead, other] = [unique("exec"), unique("exec")];
      for (let n = 0; n < 5; n++) await queued(agent);
      const left: HeldTurn[] = [];
      for (let n = 0; n < 4; n++) left.push((await run(agent, { executor: dead })).held);
      const remaining = await run(agent, { executor: other });
      expect(await store().queue.held(dead)).toHaveLength(4);
      const slices = await Promise.all([1, 2].map(() => store().queue.recover(dead, { limit: 1 })));
      expect(slices.reduce((a, b) => a + b)).toBeLessThanOrEqual(2);
      await store().queue.recover(dead, { limit: 10 });
      expect(await store().queue.recover(dead, { limit: 10 })).toBe(0);
      const turns = await start(agent, { executor: other });
      expect(turns).toHaveLength(4);
      expect(turns.every(({ row }) => row.deaths === 1 && row.attempts === 2)).toBe(true);
      expect(await store().queue.held(other)).toContainEqual(remaining.held);
      // The dead process can change nothing any more.
      await store().queue.release(left);
      for (const held of left) expect(await store().queue.again(held)).toBeNull();
      expect(await start(agent)).toEqual([]);
    });

    test("a process that leaves returns all its turns without a death, and starts no more", async () => {
      const agent = await newAgent(store());
      const [leaver, other] = [unique("exec"), unique("exec")];
      for (let n = 0; n < 2; n++) await queued(agent);
      const left = await run(agent, { executor: leaver });
      const kept = await run(agent, { executor: other });
      expect(await store().leases.release(leaver, leaver)).toBe(false);
      expect(await store().queue.leave(leaver)).toBe(true);
      expect(await store().queue.leave(leaver)).toBe(false);
      expect(await store().leases.renew(leaver, 60_000)).toBe(false);
      const late = { executor: leaver, agents: [agent], limit: 10, isIdle: false };
      expect(await store().queue.start(late)).toEqual([]);
      expect((await run(agent)).row).toMatchObject({ turn: left.row.turn, attempts: 2, deaths: 0 });
      expect(await store().queue.held(other)).toEqual([kept.held]);
    });

    test("a process whose lease has expired or was taken over starts nothing", async () => {
      const agent = await newAgent(store());
      const ref = await queued(agent);
      const [late, heir] = [unique("exec"), unique("exec")];
      const again = { executor: late, agents: [agent], limit: 10, isIdle: false };
      expect(await store().queue.start(again)).toEqual([]);
      await store().leases.take(late, 1);
      await advance(5);
      expect(await store().queue.start(again)).toEqual([]);
      expect(await store().leases.renew(late, 60_000)).toBe(true);
      const [turn] = await store().queue.start(again);
      expect(turn).toMatchObject({ held: ref });
      await store().leases.take(late, 1);
      await advance(5);
      expect(await store().leases.takeDead(late, heir)).toBe(true);
      expect(await store().queue.leave(late)).toBe(false);
      expect(await store().leases.release(late, heir)).toBe(false);
      expect(await store().queue.recover(late, { limit: 10 })).toBe(1);
      expect(await store().queue.start(again)).toEqual([]);
      expect(await store().leases.release(late, heir)).toBe(true);
      expect((await run(agent)).row).toMatchObject({ turn: turn?.row.turn, deaths: 1 });
    });

    test("after two deaths a turn is started in idle processes only, later after each, and can be buried", async () => {
      const agent = await newAgent(store());
      const ref = await queued(agent);
      const dead = unique("exec");
      let { row } = await run(agent, { executor: dead });
      for (const deaths of [1, 2, 3]) {
        await store().queue.recover(dead, { limit: 10 });
        const isSuspect = deaths >= 2;
        // The second death delays it by 1 s, which a busy machine may exceed.
        if (deaths === 3) expect(await start(agent, { isIdle: true })).toEqual([]);
        await advance([0, 0, 1_100, 2_100][deaths] ?? 0);
        if (isSuspect) expect(await start(agent)).toEqual([]);
        const again = await run(agent, { isIdle: isSuspect, executor: dead });
        expect(again.row).toMatchObject({ ...ref, turn: row.turn, deaths });
        ({ row } = again);
      }
      await store().transaction(async (tx) => {
        await tx.queue.bury(ref, row.turn);
        await tx.queue.end(ref, row.turn);
      });
      const buried = (await store().queue.dead({ limit: 100 })).filter((one) => one.session === ref.session);
      expect(buried).toMatchObject([{ ...ref, turn: row.turn, agent, deaths: 3, user: row.user }]);
      await store().queue.retry(ref, { turn: "again", retries: row.turn, options: { agent } });
      const dead2 = (await store().queue.dead({ limit: 100 })).some((one) => one.session === ref.session);
      expect(dead2).toBe(false);
      expect((await run(agent)).row).toMatchObject({ turn: "again", deaths: 0 });
    });

    test("an idle process gets the newest of the turns with the most deaths, alone", async () => {
      const agent = await newAgent(store());
      const suspects = [await queued(agent), await queued(agent)];
      const dead = unique("exec");
      for (let n = 0; n < 2; n++) {
        await start(agent, { executor: dead });
        await store().queue.recover(dead, { limit: 10 });
      }
      for (let n = 0; n < 3; n++) await queued(agent);
      await advance(1_100);
      const [old, newest] = suspects as [SessionRef, SessionRef];
      const first = await start(agent, { isIdle: true, executor: dead });
      expect(first).toMatchObject([{ held: newest, isAlone: true }]);
      expect(await start(agent)).toHaveLength(3);
      await store().queue.recover(dead, { limit: 10 });
      await advance(2_100);
      // It died once more, so the other one is suspected no longer.
      expect(await start(agent)).toMatchObject([{ held: old, isAlone: false }]);
      // If no process becomes idle, it runs beside others.
      await advance(MAX_ALONE_WAIT_MS);
      expect(await start(agent)).toMatchObject([{ held: newest, isAlone: false }]);
    });

    test("released turns can be started at once, and no death is counted", async () => {
      const agent = await newAgent(store());
      const ref = await queued(agent);
      const { held, row } = await run(agent);
      await store().queue.release([held]);
      expect((await store().queue.held("w")).some(({ session }) => session === ref.session)).toBe(false);
      const same = await run(agent, { executor: "other" });
      expect(same.row).toMatchObject({ turn: row.turn, deaths: 0, attempts: 2 });
      // The process that released it can neither park nor return it again.
      expect(await store().queue.park(held, row.turn, { wakeAt: null })).toBe(false);
      await store().queue.release([held, { ...held, executor: "other" }]);
      expect(await store().queue.held("other")).toContainEqual(same.held);
      await store().queue.release([same.held], { delayMs: 60_000 });
      expect(await start(agent)).toEqual([]);
      await advance(61_000);
      expect(await start(agent)).toHaveLength(1);
    });

    test.runIf(isWhole(name))(
      "a queued turn is deleted with its session, its user and its tenant",
      async () => {
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
          expect(await start(agent)).toEqual([]);
          const { ref: locked, actor: owner } = await newSession(store());
          await add(locked, agent);
          const { held } = await run(agent);
          await one(locked, owner.user);
          expect(await store().queue.again(held)).toBeNull();
          await store().queue.release([held]);
          expect(await start(agent)).toEqual([]);
        }
      },
    );

    test("only the process with the newest epoch can end a turn", async () => {
      const agent = await newAgent(store());
      await queued(agent);
      const { held, row } = await run(agent);
      const { epoch } = held;
      await store().queue.again(held);
      await expect(store().queue.end(held, row.turn, { epoch })).rejects.toMatchObject({ code: "FENCED" });
      expect(await store().running.get(held)).toMatchObject({ turn: row.turn });
      expect(await store().queue.end(held, row.turn, { epoch: held.epoch })).toBe("ended");
    });

    test("epochs for a session without a turn are refused while it has one", async () => {
      const agent = await newAgent(store());
      const ref = await queued(agent);
      expect(await store().epochs.next(ref, { seen: 0, ifIdle: true })).toMatchObject({ id: ref.session });
      const turn = await run(agent);
      await expect(store().epochs.next(ref, { seen: 0, ifIdle: true })).rejects.toMatchObject({
        code: "CONFLICT",
      });
      expect((await store().sessions.find(ref))?.epoch).toBe(turn.held.epoch);
      await end(turn);
      expect((await store().epochs.next(ref, { seen: 0, ifIdle: true })).epoch).toBe(turn.held.epoch + 1);
    });

    test("another tenant sees and changes nothing", async () => {
      const agent = await newAgent(store());
      await queued(agent);
      const { held, row } = await run(agent);
      const foreign = { ...held, tenant: await newTenant(store()) };
      expect(await store().queue.again(foreign)).toBeNull();
      expect(await store().queue.park(foreign, row.turn, { wakeAt: null })).toBe(false);
      await store().queue.release([foreign]);
      expect(await store().queue.wake(foreign)).toBe(false);
      expect(await store().queue.end(foreign, row.turn)).toBe("over");
      expect(await store().queue.held("w")).toContainEqual(held);
    });

    test("refuses values that can't be stored", async () => {
      const { ref } = await newSession(store());
      const invalid = { code: "INVALID" };
      const huge = "x".repeat(70_000);
      await expect(store().queue.retry(ref, { turn: "a\0", retries: "t" })).rejects.toMatchObject(invalid);
      await expect(store().queue.retry(ref, { turn: "t", retries: "" })).rejects.toMatchObject(invalid);
      await expect(
        store().queue.retry(ref, { turn: "t", retries: "s", options: huge }),
      ).rejects.toMatchObject({
        code: "TOO_LARGE",
      });
      await expect(store().queue.end(ref, "")).rejects.toMatchObject(invalid);
      for (const limit of [0, -1, 1.5, Number.NaN])
        await expect(start("a", { limit })).rejects.toMatchObject(invalid);
    });
  });
}
