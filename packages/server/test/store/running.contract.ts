/** The store contract of running turns and of leases. `turn-queue.contract.ts` starts and ends turns. */
import { expect, test } from "vitest";

import { isStoreError } from "../../src/store/errors.ts";
import type { StartedTurn } from "../../src/store/turn-queue.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { type MakeStore, newSession, newTenant, unique, isWhole } from "./harness.ts";
import { startTurn } from "./start-turn.ts";
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

    const started = async (ref: SessionRef, executor = "w"): Promise<StartedTurn> => {
      const turn = await startTurn(store(), ref, { executor });
      if (turn === null) throw new Error("nothing to run");
      return turn;
    };

    test("stores a stop once, from the first caller, and only for the requested turn", async () => {
      const { ref } = await waiting("m");
      const over = { receipt: "over", turn: null };
      expect(await store().running.requestStop(ref, {})).toEqual(over);
      const { row } = await started(ref);
      const { turn: id } = row;
      expect(await store().running.requestStop(ref, { turn: "earlier" })).toEqual(over);
      expect(await store().running.get(ref)).toMatchObject({ stop: null });
      const asked = await Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          store().running.requestStop(ref, n % 2 === 0 ? { by: `u${n}` } : { turn: id, by: `u${n}` }),
        ),
      );
      expect(asked.every(({ turn }) => turn === id)).toBe(true);
      const first = asked.findIndex(({ receipt }) => receipt === "stopping");
      expect(asked.filter(({ receipt }) => receipt === "stopping")).toHaveLength(1);
      expect(asked.filter(({ receipt }) => receipt === "already")).toHaveLength(99);
      expect((await store().running.get(ref))?.stop).toEqual({
        by: `u${first}`,
        at: expect.any(Number) as number,
      });
      expect(await store().running.requestStop(ref, { turn: "earlier" })).toEqual(over);
      await store().queue.end(ref, id);
      expect(await store().running.requestStop(ref, { turn: id })).toEqual(over);
      await store().queuedMessages.add(ref, { id: "m2", text: "t" });
      // A stop of the previous turn does not apply to the next.
      const next = await started(ref);
      expect(next.row.stop).toBeNull();
      expect(await store().running.requestStop(ref, {})).toEqual({
        receipt: "stopping",
        turn: next.row.turn,
      });
      expect(await store().running.get(ref)).toMatchObject({ stop: { by: null } });
    });

    test("finds sessions with a queued message and no turn", async () => {
      const refs: SessionRef[] = [];
      await store().agents.register([{ name: "other", label: "", description: "", inputs: ["text"] }]);
      for (let n = 0; n < 4; n++) {
        const { ref } = await newSession(store());
        // Only the first one is started below.
        const options = n === 0 ? {} : { options: { agent: "other" } };
        for (const id of ["m1", "m2"]) await store().queuedMessages.add(ref, { id, text: id, ...options });
        refs.push(ref);
      }
      await advance(5);
      const mine = async (olderThanMs: number) => {
        const found = await store().running.startable({ olderThanMs, limit: 1000 });
        return refs.filter((ref) => found.some(({ session }) => session === ref.session));
      };
      const [first, second, third, fourth] = refs as [SessionRef, SessionRef, SessionRef, SessionRef];
      expect(await mine(60_000)).toEqual([]);
      expect(await mine(0)).toEqual(refs);
      const { row } = await started(first);
      for (const id of ["m1", "m2"]) await store().queuedMessages.remove(second, id);
      await store().queuedMessages.remove(third, "m1");
      await advance(5);
      expect(await mine(0)).toEqual([third, fourth]);
      await store().queue.end(first, row.turn);
      await advance(5);
      expect(await mine(0)).toEqual([first, third, fourth]);
      expect(await store().running.startable({ olderThanMs: 0, limit: 1 })).toHaveLength(1);
    });

    test("another tenant sees and stops nothing", async () => {
      const { ref } = await waiting("m", "m2");
      const foreign = { ...ref, tenant: await newTenant(store()) };
      const { row } = await started(ref);
      expect(await store().running.get(foreign)).toBeNull();
      expect(await store().running.requestStop(foreign, {})).toEqual({ receipt: "over", turn: null });
      expect(await store().running.get(ref)).toEqual(row);
      await store().running.requestStop(ref, {});
      expect(await store().running.requestStop(foreign, {})).toEqual({ receipt: "over", turn: null });
    });

    test.runIf(isWhole(name))(
      "is erased with its session, and loses the name of an erased user",
      async () => {
        const { actor, ref } = await newSession(store());
        await store().queuedMessages.add(ref, { id: "m", text: "t", by: "guest" });
        await started(ref);
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
      },
    );

    test("refuses values that can't be stored", async () => {
      const { ref } = await waiting("m");
      const huge = "x".repeat(70_000);
      expect(await code(store().queuedMessages.add(ref, { id: "m2", text: "t", options: huge }))).toBe(
        "TOO_LARGE",
      );
      expect(await code(store().running.requestStop(ref, { by: "\ud800" }))).toBe("INVALID");
      expect(await code(store().running.requestStop(ref, { turn: "" }))).toBe("INVALID");
      for (const bad of [-1, 1.5, Number.NaN]) {
        expect(await code(store().running.startable({ olderThanMs: 0, limit: bad }))).toBe("INVALID");
      }
      expect(await store().running.get(ref)).toBeNull();
    });

    test("W22 a turn is interrupted from the end of its executor's lease until the next attempt", async () => {
      const [dead, alive] = [unique("exec"), unique("exec")];
      const { ref } = await waiting("m");
      const interrupted = () => store().running.interrupted([ref, { ...ref, session: "unknown" }]);
      await store().leases.take(dead, 60_000);
      await store().leases.take(alive, 60_000);
      expect(await interrupted()).toEqual([]);
      const { row } = await started(ref, dead);
      const { turn } = row;
      expect(await interrupted()).toEqual([]);
      await store().leases.take(dead, 1);
      await advance(5);
      expect(await interrupted()).toEqual([{ ...ref, turn }]);
      // The recovery has started, but no worker continues the turn yet.
      expect(await store().leases.takeDead(dead, alive)).toBe(true);
      expect(await interrupted()).toEqual([{ ...ref, turn }]);
      expect(await store().queue.recover(dead, { limit: 10 })).toBe(1);
      expect(await interrupted()).toEqual([{ ...ref, turn }]);
      expect((await started(ref, alive)).row).toMatchObject({ turn, attempts: 2, deaths: 1 });
      expect(await interrupted()).toEqual([]);
      await store().leases.take(alive, 1);
      await advance(5);
      expect(await interrupted()).toEqual([{ ...ref, turn }]);
      expect((await store().leases.status()).anyExpired).toBe(true);
      // Sessions that the caller does not name are not read.
      expect(await store().running.interrupted([{ ...ref, session: "unknown" }])).toEqual([]);
      expect(await store().running.interrupted([])).toEqual([]);
      await store().queue.end(ref, turn);
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

    test("a worker that leaves has no lease any more, and one that was taken over can't leave", async () => {
      const [leaver, dead, heir] = [unique("exec"), unique("exec"), unique("exec")];
      expect(await store().queue.leave(leaver)).toBe(false);
      await store().leases.take(leaver, 60_000);
      await store().leases.take(heir, 60_000);
      expect(await store().leases.takeDead(leaver, heir)).toBe(false);
      expect(await store().queue.leave(leaver)).toBe(true);
      expect(await store().leases.renew(leaver, 60_000)).toBe(false);
      await store().leases.take(dead, 1);
      await advance(5);
      expect(await store().leases.takeDead(dead, heir)).toBe(true);
      expect(await store().queue.leave(dead)).toBe(false);
      expect(await store().leases.renew(dead, 60_000)).toBe(false);
      expect(await store().leases.release(dead, heir)).toBe(true);
      expect(await store().leases.release(heir, heir)).toBe(true);
    });
  });
}
