/** The store contract of approvals, questions and forms. */
import { TRANSITIONS } from "@turnstream/protocol/writer";
import { expect, test } from "vitest";

import type { InteractionKind } from "../../src/store/rules/interactions.ts";
import type { InteractionPage, InteractionRequest } from "../../src/store/interactions.ts";
import { type MakeStore, newSession, newTenant, unique } from "./harness.ts";
import { suite } from "./suite.ts";

export function anInteraction(
  kind: InteractionKind,
  more: Partial<InteractionRequest> = {},
): InteractionRequest {
  return { id: unique(kind), kind, turn: "t1", run: "r1", block: "b1", index: 3, request: { a: 1 }, ...more };
}

export function interactionsContract(name: string, makeStore: MakeStore): void {
  suite(name, "interactions", makeStore, (store, advance) => {
    test("stores a request unchanged, and once", async () => {
      const { ref } = await newSession(store());
      const request = anInteraction("approval", {
        key: unique("key"),
        call: "c1",
        request: { z: "\0 \ud800", a: [1, null] },
        digest: "d1",
        deadlineMs: 60_000,
      });
      const { created, interaction } = await store().interactions.request(ref, request);
      expect(created).toBe(true);
      const { deadlineMs: _, ...stored } = request;
      expect(interaction).toMatchObject({
        ...ref,
        ...stored,
        status: "pending",
        version: 0,
        changedAt: null,
      });
      const { deadline, requestedAt } = interaction;
      expect(Math.abs((deadline ?? 0) - requestedAt - 60_000)).toBeLessThan(30_000);
      const again = await store().interactions.request(ref, { ...request, request: "other", deadlineMs: 1 });
      expect(again).toEqual({ created: false, interaction });
      expect(await store().interactions.get(ref, request.id)).toEqual(interaction);
      expect(await store().interactions.byKey(ref, request.key ?? "")).toEqual(interaction);
    });

    test("refuses another request under the same name", async () => {
      const { ref } = await newSession(store());
      const request = anInteraction("approval", { digest: "d1" });
      await store().interactions.request(ref, request);
      for (const other of [
        { kind: "form" as const },
        { turn: "t2" },
        { digest: "d2" },
        { key: "another" },
        { id: "x", key: request.id },
      ]) {
        const requested = store().interactions.request(ref, { ...request, ...other });
        await expect(requested).rejects.toMatchObject({ code: "EXISTS" });
      }
      // The id of one and the key of another, in both orders.
      const second = anInteraction("approval", { digest: "d1" });
      await store().interactions.request(ref, second);
      for (const [one, other] of [
        [request, second],
        [second, request],
      ] as const) {
        const mixed = store().interactions.request(ref, { ...one, key: other.id });
        await expect(mixed).rejects.toMatchObject({ code: "EXISTS" });
      }
    });

    test("allows every transition of the protocol and no other", async () => {
      const { ref } = await newSession(store());
      for (const kind of ["approval", "question", "form"] as const) {
        const targets = new Set(Object.values(TRANSITIONS).flatMap((from) => Object.values(from).flat()));
        for (const to of [...targets, "pending", "nonsense"]) {
          const timed = to === "timed_out" || to === "expired";
          const request = anInteraction(kind, timed ? { deadlineMs: 0 } : {});
          await store().interactions.request(ref, request);
          if (timed) await advance(2);
          const result = await store().interactions.change(ref, { id: request.id, to });
          const legal = TRANSITIONS[kind]["pending"]?.includes(to) ?? false;
          expect([kind, to, result.applied]).toEqual([kind, to, legal]);
          if (!result.applied) expect(result.reason).toBe("status");
        }
      }
    });

    test("one decision wins, and the others receive it", async () => {
      const { ref } = await newSession(store());
      const request = anInteraction("approval");
      const { interaction } = await store().interactions.request(ref, request);
      const body = { actions: [{ name: "send", input: "\0" }] };
      const transition = { id: request.id, to: "edited", by: "an", reason: "too \0 much", body };
      const won = await store().interactions.change(ref, transition);
      const change = {
        version: 1,
        status: "edited",
        by: "an",
        reason: "too \0 much",
        body,
        at: expect.any(Number) as number,
      };
      expect(won).toMatchObject({ applied: true, version: 1, change });
      const current = await store().interactions.get(ref, request.id);
      expect(current).toMatchObject({
        ...interaction,
        status: "edited",
        version: 1,
        changedAt: expect.any(Number),
      });
      for (const to of ["edited", "approved", "rejected", "cancelled", "timed_out"]) {
        const lost = await store().interactions.change(ref, { id: request.id, to });
        expect(lost).toEqual({
          applied: false,
          reason: "status",
          current,
          change,
          at: expect.any(Number) as number,
        });
      }
      expect(await store().interactions.changes(ref, request.id)).toEqual([change]);
    });

    test("one of many concurrent decisions wins", async () => {
      const { ref } = await newSession(store());
      for (let round = 0; round < 10; round += 1) {
        const request = anInteraction("approval");
        await store().interactions.request(ref, request);
        const wishes = ["approved", "edited", "rejected", "cancelled", "approved"];
        const results = await Promise.all(
          wishes.map((to) => store().interactions.change(ref, { id: request.id, to })),
        );
        expect(results.filter(({ applied }) => applied)).toHaveLength(1);
        expect(await store().interactions.changes(ref, request.id)).toHaveLength(1);
      }
    });

    test("the decision must match the digest that the user saw", async () => {
      const { ref } = await newSession(store());
      const { id } = anInteraction("approval");
      await store().interactions.request(ref, anInteraction("approval", { id, digest: "d1" }));
      const transition = { id, to: "approved" };
      const wrongVersion = await store().interactions.change(ref, { ...transition, expectVersion: 1 });
      expect(wrongVersion).toMatchObject({ applied: false, reason: "version", change: null });
      const wrongDigest = await store().interactions.change(ref, { ...transition, expectDigest: "d2" });
      expect(wrongDigest).toMatchObject({ applied: false, reason: "digest" });
      const right = await store().interactions.change(ref, {
        ...transition,
        expectVersion: 0,
        expectDigest: "d1",
      });
      expect(right).toMatchObject({ applied: true });
      const bare = anInteraction("approval");
      await store().interactions.request(ref, bare);
      expect(
        await store().interactions.change(ref, { id: bare.id, to: "approved", expectDigest: "d1" }),
      ).toMatchObject({ applied: false, reason: "digest" });
    });

    test("accepts a decision before the deadline and a timeout after it", async () => {
      const { ref } = await newSession(store());
      const early = anInteraction("approval", { deadlineMs: 60_000 });
      await store().interactions.request(ref, early);
      const tooEarly = await store().interactions.change(ref, { id: early.id, to: "timed_out" });
      expect(tooEarly).toMatchObject({ applied: false, reason: "early" });
      if (tooEarly.applied) return;
      const left = (tooEarly.current.deadline ?? 0) - tooEarly.at;
      expect(left > 0 && left <= 60_000).toBe(true);
      expect(await store().interactions.change(ref, { id: early.id, to: "rejected" })).toMatchObject({
        applied: true,
      });

      const late = anInteraction("question", { deadlineMs: 30_000 });
      await store().interactions.request(ref, late);
      await advance(50_000);
      for (const to of ["answered", "dismissed"]) {
        expect(await store().interactions.change(ref, { id: late.id, to })).toMatchObject({
          applied: false,
          reason: "late",
        });
      }
      expect(await store().interactions.change(ref, { id: late.id, to: "timed_out" })).toMatchObject({
        applied: true,
      });

      const stopped = anInteraction("approval", { deadlineMs: 0 });
      await store().interactions.request(ref, stopped);
      await advance(2);
      expect(await store().interactions.change(ref, { id: stopped.id, to: "cancelled" })).toMatchObject({
        applied: true,
      });

      const endless = anInteraction("form");
      await store().interactions.request(ref, endless);
      expect(await store().interactions.change(ref, { id: endless.id, to: "expired" })).toMatchObject({
        reason: "early",
      });
    });

    test("lists in order, in pages, all or only pending ones", async () => {
      const { ref } = await newSession(store());
      const made = Array.from({ length: 7 }, () => anInteraction("form"));
      for (const request of made) await store().interactions.request(ref, request);
      for (const at of [1, 4]) {
        await store().interactions.change(ref, { id: made[at]?.id ?? "", to: "submitted" });
      }
      const ids: string[] = [];
      for (let after = 0; ;) {
        const page = await store().interactions.list(ref, { after, limit: 3 });
        ids.push(...page.map(({ id }) => id));
        after = page.at(-1)?.n ?? 0;
        if (page.length < 3) break;
      }
      expect(ids).toEqual(made.map(({ id }) => id));
      const pending = await store().interactions.list(ref, { pending: true });
      expect(pending.map(({ id }) => id)).toEqual([0, 2, 3, 5, 6].map((at) => made[at]?.id));
      await expect(store().interactions.list(ref, { limit: 0 })).rejects.toMatchObject({ code: "INVALID" });
    });

    test("lists one kind, however many of other kinds are pending before", async () => {
      const { ref } = await newSession(store());
      const forms = Array.from({ length: 101 }, () => anInteraction("form"));
      const questions = Array.from({ length: 3 }, () => anInteraction("question"));
      for (const request of [...forms, ...questions]) await store().interactions.request(ref, request);
      await store().interactions.change(ref, { id: questions[0]?.id ?? "", to: "answered" });
      const list = async (page: InteractionPage) =>
        (await store().interactions.list(ref, page)).map(({ id }) => id);
      const [done, first, second] = questions.map(({ id }) => id);
      expect(await list({ kind: "question" })).toEqual([done, first, second]);
      expect(await list({ kind: "question", pending: true })).toEqual([first, second]);
      expect(await list({ kind: "question", pending: true, limit: 1 })).toEqual([first]);
      expect(await list({ kind: "approval" })).toEqual([]);
    });

    test("other tenants see and change nothing", async () => {
      const { ref } = await newSession(store());
      const foreign = { tenant: await newTenant(store()), session: ref.session };
      const request = anInteraction("approval");
      await store().interactions.request(ref, request);
      const { interactions } = store();
      expect(await interactions.get(foreign, request.id)).toBeNull();
      expect(await interactions.byKey(foreign, request.id)).toBeNull();
      expect(await interactions.list(foreign)).toEqual([]);
      expect(await interactions.changes(foreign, request.id)).toEqual([]);
      for (const work of [
        () => interactions.request(foreign, anInteraction("form")),
        () => interactions.change(foreign, { id: request.id, to: "approved" }),
        () => interactions.change(ref, { id: "nothing", to: "approved" }),
      ]) {
        await expect(work()).rejects.toMatchObject({ code: "NOT_FOUND" });
      }
    });

    test("a change and the rest of its transaction are atomic", async () => {
      const { ref } = await newSession(store());
      const request = anInteraction("approval");
      await store().interactions.request(ref, request);
      const undone = store().transaction(async (tx) => {
        expect(await tx.interactions.change(ref, { id: request.id, to: "approved" })).toMatchObject({
          applied: true,
        });
        throw new Error("undo");
      });
      await expect(undone).rejects.toThrow("undo");
      expect(await store().interactions.get(ref, request.id)).toMatchObject({
        status: "pending",
        version: 0,
      });
      expect(await store().interactions.changes(ref, request.id)).toEqual([]);
    });

    test("are erased with their session", async () => {
      const { ref } = await newSession(store());
      const request = anInteraction("approval", { deadlineMs: 0 });
      await store().interactions.request(ref, request);
      await store().sessions.remove(ref);
      expect(await store().interactions.get(ref, request.id)).toBeNull();
    });
  });
}
