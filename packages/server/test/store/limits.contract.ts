/** The store contract of limits: stored values, and what is counted in the transaction that adds it. */
import { expect, test } from "vitest";

import type { Actor, SessionRef } from "../../src/util/refs.ts";
import type { TurnLimits, UseScope } from "../../src/store/rules/limits.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { type MakeStore, newSession, newTenant, unique, isWhole } from "./harness.ts";
import { suite } from "./suite.ts";
import { startTurn } from "./start-turn.ts";

const NONE: TurnLimits = {
  queuedMessages: null,
  runningTurns: null,
  tokensPerDay: null,
  tokensPerMonth: null,
  costPerDay: null,
  costPerMonth: null,
};
const KEY = "key-1";
const COUNTS = { turns: 1, calls: 1, input_tokens: 60, output_tokens: 40, total_tokens: 100 };

export function limitsContract(name: string, makeStore: MakeStore): void {
  suite(name, "limits", makeStore, (store) => {
    const find = async (actor: Actor) =>
      (await store().limits.find(actor)).map(({ target, source, name: limit, value }) => {
        const of = target.scope === "tenant" ? "tenant" : (target.user ?? "each");
        return `${of} ${source} ${limit} ${value}`;
      });

    test("keeps the limits of a tenant, of each user and of one user, by source", async () => {
      const tenant = await newTenant(store());
      const { limits } = store();
      await limits.replace(tenant, { scope: "tenant" }, "operator", { sockets: 9, storedBytes: null });
      await limits.replace(tenant, { scope: "user", user: null }, "admin", { costPerDay: 0.5 });
      await limits.replace(tenant, { scope: "user", user: "ann" }, "admin", { runningTurns: 0 });
      await limits.replace(tenant, { scope: "user", user: "ann" }, "operator", { runningTurns: 2 });
      await limits.replace(tenant, { scope: "user", user: "bob" }, "admin", { streams: 1 });
      expect(await find({ tenant, user: "ann" })).toEqual([
        "tenant operator sockets 9",
        "tenant operator storedBytes null",
        "each admin costPerDay 0.5",
        "ann admin runningTurns 0",
        "ann operator runningTurns 2",
      ]);
      expect(await limits.list(tenant)).toHaveLength(6);
      await limits.replace(tenant, { scope: "user", user: "ann" }, "admin", {});
      await limits.replace(tenant, { scope: "tenant" }, "operator", { sockets: 1 });
      expect(await find({ tenant, user: "ann" })).toEqual([
        "tenant operator sockets 1",
        "each admin costPerDay 0.5",
        "ann operator runningTurns 2",
      ]);
      expect(await find({ tenant: await newTenant(store()), user: "ann" })).toEqual([]);
    });

    test("refuses unknown limits, wrong values and a missing tenant", async () => {
      const tenant = await newTenant(store());
      const replace = (values: object, of = tenant) =>
        store().limits.replace(of, { scope: "user", user: "ann" }, "admin", values);
      for (const values of [
        { nothing: 1 },
        { connections: 1 },
        { sockets: -1 },
        { sockets: 1.5 },
        { sockets: NaN },
      ])
        await expect(replace(values)).rejects.toMatchObject({ code: "INVALID" });
      await expect(replace({ sockets: 1 }, "no-such-tenant")).rejects.toMatchObject({ code: "NOT_FOUND" });
      await expect(replace({}, "no-such-tenant")).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    test("two concurrent replacements leave the values of one of them", async () => {
      const tenant = await newTenant(store());
      const values = [1, 2, 3, 4, 5].map((sockets) => ({ sockets, streams: sockets }));
      await Promise.all(
        values.map((one) => store().limits.replace(tenant, { scope: "tenant" }, "admin", one)),
      );
      const [sockets, streams] = await store().limits.list(tenant);
      expect(sockets?.value).toBe(streams?.value);
    });

    const exceededBy = (actor: Actor, limits: Partial<Record<UseScope, Partial<TurnLimits>>>) => {
      const { user, key, tenant } = limits;
      const all = { user: { ...NONE, ...user }, key: { ...NONE, ...key }, tenant: { ...NONE, ...tenant } };
      return store().limits.findExceeded({ ...actor, apiKey: KEY }, all);
    };

    test("counts queued messages and sessions with a turn, of the user and of the tenant", async () => {
      const { actor, ref } = await newSession(store());
      const other = await addSession(store(), { ...actor, user: unique("other") });
      const second = await addSession(store(), actor);
      const exceeded = (user: Partial<TurnLimits>, tenant: Partial<TurnLimits> = {}) =>
        exceededBy(actor, { user, tenant });
      for (const id of ["a", "b"]) await store().queuedMessages.add(ref, { id, text: id });
      await store().queuedMessages.add(second, { id: "c", text: "c" });
      await store().queuedMessages.add(other, { id: "d", text: "d" });
      expect(
        await exceeded({ queuedMessages: 3, runningTurns: 2 }, { queuedMessages: 4, runningTurns: 3 }),
      ).toBe(null);
      expect(await exceeded({ queuedMessages: 2 })).toMatchObject({ limit: "queuedMessages", scope: "user" });
      expect(await exceeded({ runningTurns: 1 })).toMatchObject({ limit: "runningTurns", scope: "user" });
      expect(await exceeded({}, { queuedMessages: 3 })).toMatchObject({ scope: "tenant" });
      expect(await exceeded({}, { runningTurns: 2 })).toMatchObject({
        limit: "runningTurns",
        scope: "tenant",
      });
      // A running turn still counts, its message no longer.
      const running = await startTurn(store(), second);
      expect(await exceeded({ queuedMessages: 2, runningTurns: 2 })).toBe(null);
      expect(await exceeded({ runningTurns: 1 })).toMatchObject({ limit: "runningTurns" });
      await store().queue.end(second, running?.row.turn ?? "");
      expect(await exceeded({ runningTurns: 1 })).toBe(null);
      await store().sessions.remove(ref);
      expect(await exceeded({ queuedMessages: 0, runningTurns: 0 })).toBe(null);
    });

    test("counts tokens and cost of today and of this month", async () => {
      const { actor } = await newSession(store());
      const today = (await addAndFindDay(store(), actor.tenant)) ?? "";
      const add = (day: string, user: string, cost: number) =>
        store().usage.add(actor.tenant, { key: unique("turn"), day, user, cost, model: "m", ...COUNTS });
      await add(today, actor.user, 0.25);
      await add(today, "other", 1);
      await add("2001-01-01", actor.user, 100);
      const exceeded = (user: Partial<TurnLimits>, tenant: Partial<TurnLimits> = {}) =>
        exceededBy(actor, { user, tenant });
      expect(await exceeded({ tokensPerDay: 101, costPerDay: 0.26, tokensPerMonth: 101 })).toBe(null);
      const byDay = await exceeded({ tokensPerDay: 100 });
      expect(byDay).toMatchObject({ limit: "tokensPerDay", scope: "user" });
      expect(byDay?.retryAfterMs).toBeLessThanOrEqual(24 * 3_600_000);
      expect(await exceeded({ costPerMonth: 0.25 })).toMatchObject({ limit: "costPerMonth", scope: "user" });
      expect(await exceeded({}, { costPerDay: 1.25 })).toMatchObject({
        limit: "costPerDay",
        scope: "tenant",
      });
      expect(await exceeded({}, { tokensPerDay: 200 })).toMatchObject({ scope: "tenant" });
    });

    test("counts messages, turns and usage of an API key in sessions of all users", async () => {
      const { actor, ref } = await newSession(store());
      const others = { ...actor, user: unique("other") };
      const [second, third] = [await addSession(store(), others), await addSession(store(), others)];
      const exceeded = (key: Partial<TurnLimits>) => exceededBy(actor, { key });
      await store().queuedMessages.add(ref, { id: "a", text: "a", apiKey: KEY });
      await store().queuedMessages.add(ref, { id: "b", text: "b" });
      await store().queuedMessages.add(second, { id: "c", text: "c", apiKey: KEY });
      await store().queuedMessages.add(third, { id: "d", text: "d", apiKey: "key-2" });
      expect(await exceeded({ queuedMessages: 2, runningTurns: 2 })).toBe(null);
      expect(await exceeded({ queuedMessages: 1 })).toMatchObject({ limit: "queuedMessages", scope: "key" });
      expect(await exceeded({ runningTurns: 1 })).toMatchObject({ limit: "runningTurns", scope: "key" });
      // The turn has the key of its message; a retry has the key of its request.
      const running = await startTurn(store(), second);
      expect(running?.row).toMatchObject({ apiKey: KEY });
      expect(await exceeded({ queuedMessages: 1, runningTurns: 2 })).toBe(null);
      await store().queue.end(second, running?.row.turn ?? "");
      expect(await exceeded({ runningTurns: 1 })).toBe(null);
      await store().queue.retry(second, { turn: "u", retries: "t", apiKey: KEY });
      expect(await exceeded({ runningTurns: 1 })).toMatchObject({ scope: "key" });
      const today = (await addAndFindDay(store(), actor.tenant)) ?? "";
      const add = (apiKey: string | null) =>
        store().usage.add(actor.tenant, { key: unique("turn"), apiKey, day: today, cost: 1, ...COUNTS });
      for (const key of [KEY, KEY, "key-2", null]) await add(key);
      expect(await exceeded({ tokensPerDay: 201, costPerMonth: 2.1 })).toBe(null);
      expect(await exceeded({ tokensPerDay: 200 })).toMatchObject({ limit: "tokensPerDay", scope: "key" });
      expect(await exceeded({ costPerMonth: 2 })).toMatchObject({ limit: "costPerMonth", scope: "key" });
      expect(await store().usage.listKey(actor.tenant, KEY, today, today)).toMatchObject([
        { turns: 2, total_tokens: 200, cost: 2 },
      ]);
      // A caller without a key has no limits of a key.
      const zero = { ...NONE, tokensPerDay: 0, queuedMessages: 0 };
      const without = { ...actor, apiKey: null };
      const limits = { user: NONE, key: zero, tenant: NONE };
      expect(await store().limits.findExceeded(without, limits)).toBe(null);
      expect(await store().limits.findExceededUsage(without, limits)).toBe(null);
    });

    test("counts the tokens and cost that running turns have journaled, once", async () => {
      const { actor, ref } = await newSession(store());
      await store().queuedMessages.add(ref, { id: "a", text: "a", apiKey: KEY });
      const running = await startTurn(store(), ref);
      const exceeded = (scope: UseScope, limits: Partial<TurnLimits>) => {
        const all = { user: NONE, key: NONE, tenant: NONE, [scope]: { ...NONE, ...limits } };
        return store().limits.findExceededUsage({ ...actor, apiKey: KEY }, all);
      };
      const id = running?.row.turn ?? "";
      const epoch = running?.held.epoch ?? 0;
      const write = (key: string, turn = id) =>
        store().journal.write(ref, { turn, key, value: 1, epoch, used: { tokens: 50, cost: 0.25 } });
      await write("step/1");
      await write("step/2");
      // A repeat, an entry without usage and an entry of another turn add nothing.
      expect(await write("step/2")).toBe("already");
      await store().journal.write(ref, { turn: id, key: "call", value: 1, epoch });
      await write("step/1", "earlier");
      for (const scope of ["user", "key", "tenant"] as const) {
        expect(await exceeded(scope, { tokensPerDay: 101, tokensPerMonth: 101, costPerDay: 0.51 })).toBe(
          null,
        );
        expect(await exceeded(scope, { tokensPerMonth: 100 })).toMatchObject({
          limit: "tokensPerMonth",
          scope,
        });
        expect(await exceeded(scope, { costPerDay: 0.5 })).toMatchObject({ limit: "costPerDay", scope });
        expect(await exceededBy(actor, { [scope]: { tokensPerDay: 100 } })).toMatchObject({ scope });
      }
      // The end of the turn moves its usage to the ledger.
      await store().transaction(async (tx) => {
        const usage = { key: "t", user: actor.user, apiKey: KEY, cost: 0.5, ...COUNTS };
        await tx.usage.add(actor.tenant, usage);
        await tx.queue.end(ref, id);
      });
      for (const scope of ["user", "key", "tenant"] as const) {
        expect(await exceeded(scope, { tokensPerDay: 101 })).toBe(null);
        expect(await exceeded(scope, { tokensPerDay: 100 })).toMatchObject({ scope });
      }
    });

    test("counts the bytes of an API key, also if another key starts the upload again", async () => {
      const { actor, ref } = await newSession(store());
      const exceeded = (apiKey: string, key: number) =>
        store().limits.findExceededBytes({ ...actor, apiKey }, { user: null, key, tenant: null });
      const start = (id: string, apiKey: string | null) =>
        store().uploads.begin(ref, { id, name: id, mediaType: "", by: null, apiKey });
      const add = (id: string, attempt: number, size: number) =>
        store().uploads.add(ref, id, { attempt, bytes: new Uint8Array(size) });
      await start("a", KEY);
      await add("a", 1, 100);
      await start("b", null);
      await add("b", 1, 50);
      expect(await exceeded(KEY, 99)).toMatchObject({ limit: "storedBytes", scope: "key" });
      expect(await exceeded(KEY, 100)).toBe(null);
      await start("a", "key-2");
      expect(await exceeded(KEY, 0)).toBe(null);
      await add("a", 2, 30);
      expect(await exceeded("key-2", 29)).toMatchObject({ scope: "key" });
      expect(await exceeded("key-2", 30)).toBe(null);
      await store().uploads.remove(ref, "a");
      expect(await exceeded("key-2", 0)).toBe(null);
    });

    test.runIf(isWhole(name))(
      "counts the bytes of uploads, also after a restart, a removal and an erasure",
      async () => {
        const { actor, ref } = await newSession(store());
        const other = await addSession(store(), { ...actor, user: unique("other") });
        const exceededBytes = (user: number | null, tenant: number | null) =>
          store().limits.findExceededBytes({ ...actor, apiKey: null }, { user, key: null, tenant });
        const bytes = async () => {
          let [low, high] = [0, 1_000];
          while (low < high) {
            const middle = Math.floor((low + high) / 2);
            if ((await exceededBytes(middle, null)) === null) high = middle;
            else low = middle + 1;
          }
          return low;
        };
        await upload(store(), ref, "a", 100);
        await upload(store(), ref, "b", 50);
        await upload(store(), other, "c", 30);
        expect(await bytes()).toBe(150);
        expect(await exceededBytes(null, 179)).toMatchObject({ limit: "storedBytes", scope: "tenant" });
        expect(await exceededBytes(null, 180)).toBe(null);
        // An upload that is not complete starts again.
        await store().uploads.begin(ref, { id: "d", name: "d", mediaType: "", by: null });
        await store().uploads.add(ref, "d", { attempt: 1, bytes: new Uint8Array(7) });
        expect(await bytes()).toBe(157);
        await store().uploads.begin(ref, { id: "d", name: "d", mediaType: "", by: null });
        expect(await bytes()).toBe(150);
        await store().uploads.remove(ref, "a");
        expect(await bytes()).toBe(50);
        await store().sessions.remove(ref);
        expect(await bytes()).toBe(0);
        await store().tenants.remove(actor.tenant);
      },
    );

    test.runIf(isWhole(name))(
      "erasing a user erases the user's limits and usage, and keeps the tenant's sums",
      async () => {
        const { actor, ref } = await newSession(store());
        const { tenant, user } = actor;
        await upload(store(), ref, "a", 10);
        await store().limits.replace(tenant, { scope: "user", user }, "admin", { sockets: 1 });
        await store().usage.add(tenant, { key: "t", day: "2026-01-01", user, cost: 2, ...COUNTS });
        expect(await store().usage.listUser(actor, "2026-01-01", "2026-01-01")).toMatchObject([{ cost: 2 }]);
        await store().sessions.removeUser(tenant, user);
        expect(await store().limits.list(tenant)).toEqual([]);
        expect(await store().usage.listUser(actor, "2026-01-01", "2026-01-01")).toEqual([]);
        expect(await store().usage.list(tenant, "2026-01-01", "2026-01-01")).toMatchObject([
          { total_tokens: 100, cost: 2 },
        ]);
      },
    );
  });
}

async function addSession(store: ClosableStore, actor: Actor): Promise<SessionRef> {
  const session = unique("session");
  await store.sessions.create(actor, { id: session, firstEpoch: 1 });
  return { tenant: actor.tenant, session };
}

/** Returns today by the store's clock. */
async function addAndFindDay(store: ClosableStore, tenant: string): Promise<string | undefined> {
  const none = { turns: 0, calls: 0, input_tokens: 0, output_tokens: 0, total_tokens: 0 };
  await store.usage.add(tenant, { key: unique("turn"), ...none });
  return (await store.usage.list(tenant, "2020-01-01", "2090-01-01"))[0]?.day;
}

async function upload(store: ClosableStore, ref: SessionRef, id: string, size: number): Promise<void> {
  await store.uploads.begin(ref, { id, name: id, mediaType: "", by: null });
  await store.uploads.add(ref, id, { attempt: 1, bytes: new Uint8Array(size) });
  await store.uploads.complete(ref, id, 1);
}
