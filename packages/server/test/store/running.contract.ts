/** The store contract of running turns. */
import { expect, test } from "vitest";

import { isStoreError } from "../../src/store/errors.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { type MakeStore, newSession, newTenant, unique } from "./harness.ts";
import { suite } from "./suite.ts";

/** Returns the error code of a refused call, or null. */
function code(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => (isStoreError(error) ? error.code : error),
  );
}

export function runningContract(name: string, makeStore: MakeStore): void {
  suite(name, "running turns", makeStore, (store, advance) => {
    const waiting = async (...texts: string[]) => {
      const made = await newSession(store());
      for (const text of texts) await store().queuedMessages.add(made.ref, { id: text, text });
      return made;
    };

    test("a turn takes the oldest message with all its data, and no other turn starts next to it", async () => {
      const { actor, ref } = await newSession(store());
      expect(await store().running.begin(ref, { turn: "t0" })).toBeNull();
      const files = [{ url: "https://example.com/a" }];
      const options = { agent: "market", odd: "\0 \ud800", deep: [1, { a: null }] };
      const limits = { tokensPerDay: 5, tokensPerMonth: null, costPerDay: 0.5, costPerMonth: null };
      const caller = { apiKey: "key", usageLimits: { user: limits, key: limits, tenant: limits } };
      const first = { id: "z", text: "first \0 \ud800", files, by: "an", resumes: "f1", options, ...caller };
      await store().queuedMessages.add(ref, first);
      await store().queuedMessages.add(ref, { id: "a", text: "second" });
      const [shown] = await store().queuedMessages.list(ref);
      for (const hidden of ["options", "apiKey", "usageLimits"]) expect(shown).not.toHaveProperty(hidden);
      const turn = await store().running.begin(ref, { turn: "t1" });
      expect(turn).toEqual({
        ...ref,
        user: actor.user,
        turn: "t1",
        message: shown,
        retries: null,
        options,
        startedAt: expect.any(Number) as number,
        attempts: 0,
        attemptsWithoutProgress: 0,
        deaths: 0,
        stop: null,
        ...caller,
      });
      expect(await store().running.get(ref)).toEqual(turn);
      expect((await store().queuedMessages.list(ref)).map(({ id }) => id)).toEqual(["a"]);
      expect(await store().running.begin(ref, { turn: "t2" })).toBeNull();
      expect(await store().running.begin(ref, { turn: "t2", retries: "t0" })).toBeNull();
      expect((await store().queuedMessages.list(ref)).map(({ id }) => id)).toEqual(["a"]);
      // Added again, the message is not queued again.
      expect(await store().queuedMessages.add(ref, first)).toBe("already");
      expect(await store().running.end(ref, "t1")).not.toBe("over");
      expect(await store().running.end(ref, "t1")).toBe("over");
      expect(await store().running.get(ref)).toBeNull();
      const next = await store().running.begin(ref, { turn: "t2" });
      expect(next).toMatchObject({ message: { id: "a", by: null, files: [] }, options: null });
      expect(next).toMatchObject({ apiKey: null, usageLimits: null });
      await store().running.end(ref, "t2");
    });

    test("only the worker with the newest epoch can end a turn", async () => {
      const { ref } = await waiting("m");
      await store().running.begin(ref, { turn: "t1" });
      const claim = { seen: 0, by: "w", reason: "test" };
      const { epoch } = await store().epochs.next(ref, claim);
      const newest = await store().epochs.next(ref, claim);
      expect(await code(store().running.end(ref, "t1", { epoch }))).toBe("FENCED");
      expect(await store().running.get(ref)).toMatchObject({ turn: "t1" });
      expect(await store().running.end(ref, "t1", { epoch: newest.epoch })).toBe("ended");
    });

    test("a turn can be retried without a message and with its own options", async () => {
      const { ref } = await waiting("m");
      const turn = await store().running.begin(ref, { turn: "t2", retries: "t1", options: ["x"] });
      expect(turn).toMatchObject({ turn: "t2", retries: "t1", message: null, options: ["x"] });
      expect(await store().running.get(ref)).toEqual(turn);
      expect(await store().queuedMessages.list(ref)).toHaveLength(1);
      await store().running.end(ref, "t2");
      const bare = await store().running.begin(ref, { turn: "t3", retries: "t1" });
      expect(bare).toMatchObject({ options: null, message: null });
    });

    test("a begin that is rolled back returns the message and its options", async () => {
      const { ref } = await newSession(store());
      await store().queuedMessages.add(ref, { id: "m", text: "t", options: { a: 1 } });
      await expect(
        store().transaction(async (tx) => {
          await tx.running.begin(ref, { turn: "t1" });
          throw new Error("undo");
        }),
      ).rejects.toThrow("undo");
      expect(await store().running.get(ref)).toBeNull();
      expect(await store().running.begin(ref, { turn: "t2" })).toMatchObject({ options: { a: 1 } });
    });

    test("one of many concurrent begins gets the message", async () => {
      const { ref } = await waiting("m1", "m2");
      const started = await Promise.all(
        Array.from({ length: 20 }, (_, n) => store().running.begin(ref, { turn: `t${n}` })),
      );
      expect(started.filter((turn) => turn !== null)).toHaveLength(1);
      expect((await store().queuedMessages.list(ref)).map(({ id }) => id)).toEqual(["m2"]);
    });

    test("counts the attempts of the running turn", async () => {
      const { ref } = await waiting("m");
      expect(await store().running.attempt(ref, "t")).toBeNull();
      const started = await store().running.begin(ref, { turn: "t" });
      expect(await store().running.attempt(ref, "t")).toEqual({
        ...started,
        attempts: 1,
        attemptsWithoutProgress: 1,
      });
      expect(await store().running.attempt(ref, "other")).toBeNull();
      await Promise.all(Array.from({ length: 9 }, () => store().running.attempt(ref, "t")));
      expect(await store().running.get(ref)).toMatchObject({ attempts: 10 });
    });

    test("counts attempts without progress until one journals something", async () => {
      const { ref } = await waiting("m");
      await store().running.begin(ref, { turn: "t" });
      const { epoch } = await store().epochs.next(ref, { seen: 0, by: "w", reason: "test" });
      const attempt = async () => (await store().running.attempt(ref, "t"))?.attemptsWithoutProgress;
      const journal = (turn: string, key: string) =>
        store().journal.write(ref, { turn, key, value: 1, epoch });
      expect([await attempt(), await attempt(), await attempt()]).toEqual([1, 2, 3]);
      await journal("earlier", "a");
      expect(await attempt()).toBe(4);
      await journal("t", "a");
      expect([await attempt(), await attempt()]).toEqual([1, 2]);
      // Writing the same entry again is no progress.
      await journal("t", "a");
      expect(await attempt()).toBe(3);
      await journal("t", "b");
      expect(await attempt()).toBe(1);
      expect(await store().running.get(ref)).toMatchObject({ attempts: 8, attemptsWithoutProgress: 1 });
    });

    test("forgives an attempt that was handed over, unless there was another since", async () => {
      const { ref } = await waiting("m");
      await store().running.begin(ref, { turn: "t" });
      const fruitless = async () => (await store().running.get(ref))?.attemptsWithoutProgress;
      for (let n = 0; n < 3; n++) await store().running.attempt(ref, "t");
      await store().running.forgive(ref, { turn: "t", attempts: 2 });
      await store().running.forgive(ref, { turn: "other", attempts: 3 });
      await store().running.forgive({ ...ref, tenant: "else" }, { turn: "t", attempts: 3 });
      expect(await fruitless()).toBe(3);
      await store().running.forgive(ref, { turn: "t", attempts: 3 });
      expect(await fruitless()).toBe(2);
      expect(await store().running.attempt(ref, "t")).toMatchObject({
        attempts: 4,
        attemptsWithoutProgress: 3,
      });
    });

    test("stores a stop once, from the first caller, and only for the requested turn", async () => {
      const { ref } = await waiting("m");
      const over = { receipt: "over", turn: null };
      expect(await store().running.requestStop(ref, {})).toEqual(over);
      await store().running.begin(ref, { turn: "t" });
      expect(await store().running.requestStop(ref, { turn: "earlier" })).toEqual(over);
      expect(await store().running.get(ref)).toMatchObject({ stop: null });
      const asked = await Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          store().running.requestStop(ref, n % 2 === 0 ? { by: `u${n}` } : { turn: "t", by: `u${n}` }),
        ),
      );
      expect(asked.every(({ turn }) => turn === "t")).toBe(true);
      const first = asked.findIndex(({ receipt }) => receipt === "stopping");
      expect(asked.filter(({ receipt }) => receipt === "stopping")).toHaveLength(1);
      expect(asked.filter(({ receipt }) => receipt === "already")).toHaveLength(99);
      expect((await store().running.get(ref))?.stop).toEqual({
        by: `u${first}`,
        at: expect.any(Number) as number,
      });
      expect(await store().running.requestStop(ref, { turn: "earlier" })).toEqual(over);
      await store().running.end(ref, "t");
      expect(await store().running.requestStop(ref, { turn: "t" })).toEqual(over);
      await store().queuedMessages.add(ref, { id: "m2", text: "t" });
      // A stop of the previous turn does not apply to the next.
      expect(await store().running.begin(ref, { turn: "t2" })).toMatchObject({ stop: null });
      expect(await store().running.requestStop(ref, {})).toEqual({ receipt: "stopping", turn: "t2" });
      expect(await store().running.get(ref)).toMatchObject({ stop: { by: null } });
    });

    test("finds sessions with a queued message and no running turn, the longest waiting first", async () => {
      const refs: SessionRef[] = [];
      for (let n = 0; n < 4; n++) {
        const { ref } = await waiting("m1", "m2");
        refs.push(ref);
        await advance(5);
      }
      const mine = async (olderThanMs: number) => {
        const found = await store().running.startable({ olderThanMs, limit: 1000 });
        return found.filter(({ session }) => refs.some((ref) => ref.session === session));
      };
      const [first, second, third, fourth] = refs as [SessionRef, SessionRef, SessionRef, SessionRef];
      expect(await mine(60_000)).toEqual([]);
      expect(await mine(0)).toEqual(refs);
      await store().running.begin(first, { turn: "t" });
      await store().queuedMessages.take(second);
      await store().queuedMessages.take(second);
      await store().queuedMessages.take(third);
      expect(await mine(0)).toEqual([third, fourth]);
      await store().running.end(first, "t");
      expect(await mine(0)).toEqual([first, third, fourth]);
      expect(await store().running.startable({ olderThanMs: 0, limit: 1 })).toHaveLength(1);
    });

    test("another tenant sees and changes nothing", async () => {
      const { ref } = await waiting("m", "m2");
      const foreign = { ...ref, tenant: await newTenant(store()) };
      await expect(store().running.begin(foreign, { turn: "t" })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
      const retry = { turn: "t", retries: "t0" };
      await expect(store().running.begin(foreign, retry)).rejects.toMatchObject({ code: "NOT_FOUND" });
      const turn = await store().running.begin(ref, { turn: "t" });
      expect(turn).not.toBeNull();
      expect(await store().running.get(foreign)).toBeNull();
      expect(await store().running.attempt(foreign, "t")).toBeNull();
      expect(await store().running.requestStop(foreign, {})).toEqual({ receipt: "over", turn: null });
      expect(await store().running.end(foreign, "t")).toBe("over");
      expect(await store().running.get(ref)).toEqual(turn);
      await store().running.requestStop(ref, {});
      expect(await store().running.requestStop(foreign, {})).toEqual({ receipt: "over", turn: null });
    });

    test("is erased with its session, and loses the name of an erased user", async () => {
      const { actor, ref } = await newSession(store());
      await store().queuedMessages.add(ref, { id: "m", text: "t", by: "guest" });
      await store().running.begin(ref, { turn: "t" });
      await store().running.requestStop(ref, { by: "stopper" });
      await store().sessions.removeUser(await newTenant(store()), "guest");
      expect(await store().running.get(ref)).toMatchObject({ message: { by: "guest" } });
      await store().sessions.removeUser(ref.tenant, "guest");
      expect(await store().running.get(ref)).toMatchObject({
        message: { by: null },
        stop: { by: "stopper" },
      });
      await store().sessions.removeUser(ref.tenant, "stopper");
      const { stop } = (await store().running.get(ref)) ?? { stop: null };
      expect(stop).toEqual({ by: null, at: expect.any(Number) as number });
      await store().sessions.removeUser(ref.tenant, actor.user);
      expect(await store().running.get(ref)).toBeNull();
    });

    test("refuses values that can't be stored", async () => {
      const { ref } = await waiting("m");
      const huge = "x".repeat(70_000);
      expect(await code(store().running.begin(ref, { turn: "a\0" }))).toBe("INVALID");
      expect(await code(store().running.begin(ref, { turn: "t", retries: "" }))).toBe("INVALID");
      expect(await code(store().running.begin(ref, { turn: "t", options: {} }))).toBe("INVALID");
      expect(await code(store().running.begin(ref, { turn: "t", retries: "t0", options: huge }))).toBe(
        "TOO_LARGE",
      );
      expect(await code(store().queuedMessages.add(ref, { id: "m2", text: "t", options: huge }))).toBe(
        "TOO_LARGE",
      );
      expect(await code(store().running.requestStop(ref, { by: "\ud800" }))).toBe("INVALID");
      expect(await code(store().running.requestStop(ref, { turn: "" }))).toBe("INVALID");
      expect(await code(store().running.attempt(ref, ""))).toBe("INVALID");
      expect(await code(store().running.end(ref, ""))).toBe("INVALID");
      for (const bad of [-1, 1.5, Number.NaN]) {
        expect(await code(store().running.startable({ olderThanMs: 0, limit: bad }))).toBe("INVALID");
      }
      expect(await store().running.get(ref)).toBeNull();
    });

    test("W22 a turn is interrupted from the end of its executor's lease until the next attempt", async () => {
      const [dead, alive] = [unique("exec"), unique("exec")];
      const { ref } = await waiting("m");
      const interrupted = () => store().running.interrupted([ref, { ...ref, session: "unknown" }]);
      const start = async (executor: string) => {
        const jobs = await store().jobs.fetch({ executor, agents: [null], limit: 1000, alone: false });
        const job = jobs.find(({ session }) => session === ref.session);
        return job === undefined ? null : store().running.start(job, { executor, turn: "t", agents: [] });
      };
      await store().leases.take(dead, 60_000);
      await store().leases.take(alive, 60_000);
      expect(await interrupted()).toEqual([]);
      expect(await start(dead)).toMatchObject({ turn: "t", attempts: 1 });
      expect(await interrupted()).toEqual([]);
      await store().leases.leave(dead);
      await advance(5);
      expect(await interrupted()).toEqual([{ ...ref, turn: "t" }]);
      // The recovery has started, but no worker continues the turn yet.
      expect(await store().leases.takeDead(dead, alive)).toBe(true);
      expect(await interrupted()).toEqual([{ ...ref, turn: "t" }]);
      expect(await store().jobs.recover(dead, { limit: 10 })).toBe(1);
      expect(await interrupted()).toEqual([{ ...ref, turn: "t" }]);
      expect(await start(alive)).toMatchObject({ turn: "t", attempts: 2, deaths: 1 });
      expect(await interrupted()).toEqual([]);
      await store().leases.leave(alive);
      await advance(5);
      expect(await interrupted()).toEqual([{ ...ref, turn: "t" }]);
      expect((await store().leases.status()).anyExpired).toBe(true);
      // Sessions that the caller does not name are not read.
      expect(await store().running.interrupted([{ ...ref, session: "unknown" }])).toEqual([]);
      expect(await store().running.interrupted([])).toEqual([]);
      await store().running.end(ref, "t");
      expect(await interrupted()).toEqual([]);
      const tooMany = Array.from({ length: 1_001 }, (_, n) => ({ ...ref, session: `s${n}` }));
      expect(await code(store().running.interrupted(tooMany))).toBe("INVALID");
      await store().leases.release(dead, alive);
    });

    test("an expired lease can be renewed until another worker takes it over", async () => {
      const [late, heir] = [unique("exec"), unique("exec")];
      await store().leases.take(late, 1);
      await store().leases.take(heir, 60_000);
      await advance(5);
      expect(await store().leases.expired(100)).toContain(late);
      expect(await store().leases.renew(late, 60_000)).toBe(true);
      expect(await store().leases.takeDead(late, heir)).toBe(false);
      await store().leases.renew(late, 1);
      await advance(5);
      expect(await store().leases.takeDead(late, heir)).toBe(true);
      expect(await store().leases.renew(late, 60_000)).toBe(false);
      await store().leases.release(late, heir);
      await store().leases.release(heir, heir);
    });

    test("knows which live workers could reach the log, and when", async () => {
      const [cutOff, other] = [unique("exec"), unique("exec")];
      await store().leases.take(cutOff, 60_000);
      await store().leases.take(other, 60_000);
      await store().leases.renew(other, 60_000, { reachesLog: true });
      expect(await store().leases.otherReachesLog(cutOff, 60_000)).toBe(true);
      await advance(50);
      // It renews its lease, but has not reached the log since.
      await store().leases.renew(other, 60_000, { reachesLog: false });
      expect(await store().leases.otherReachesLog(cutOff, 10)).toBe(false);
      await store().leases.renew(other, 60_000);
      expect(await store().leases.otherReachesLog(cutOff, 10_000)).toBe(true);
      await store().leases.leave(other);
      await store().leases.release(other, other);
      await store().leases.release(cutOff, cutOff);
    });

    test("the clock of leases moves on", async () => {
      const before = await store().leases.clock();
      await advance(20);
      const after = await store().leases.clock();
      expect(Number.isInteger(after)).toBe(true);
      expect(after - before).toBeGreaterThanOrEqual(19);
      expect(after - before).toBeLessThan(60_000);
    });

    test("the work of a worker that leaves can be taken immediately", async () => {
      const [leaver, heir] = [unique("exec"), unique("exec")];
      expect(await store().leases.leave(leaver)).toBe(false);
      await store().leases.take(leaver, 60_000);
      await store().leases.take(heir, 60_000);
      expect(await store().leases.takeDead(leaver, heir)).toBe(false);
      expect(await store().leases.leave(leaver)).toBe(true);
      // Other tests leave expired leases in the same database.
      expect(await store().leases.expired(100)).toContain(leaver);
      expect(await store().leases.takeDead(leaver, heir)).toBe(true);
      expect(await store().leases.leave(leaver)).toBe(false);
      expect(await store().leases.renew(leaver, 60_000)).toBe(false);
      expect(await store().leases.release(leaver, heir)).toBe(true);
      expect(await store().leases.release(heir, heir)).toBe(true);
    });
  });
}
