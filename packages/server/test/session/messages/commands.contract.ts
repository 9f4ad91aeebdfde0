/** The contract of the session commands of gateways and workers. It runs on memory and on real servers. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LogError } from "../../../src/log/errors.ts";
import type { Signals } from "../../../src/signals/signals.ts";
import { archiveSession } from "../../../src/session/archive/archive.ts";
import { claimSession } from "../../../src/session/lifecycle/claim.ts";
import { createSession, ensureSessionLog } from "../../../src/session/lifecycle/create.ts";
import { readHistory } from "../../../src/session/history/read-history.ts";
import { sendMessage, withdrawMessage } from "../../../src/session/messages/send.ts";
import { stopTurn } from "../../../src/session/messages/stop-turn.ts";
import { decodeSessionRef, STOPS_CHANNEL, TURNS_CHANNEL } from "../../../src/session/signal-channels.ts";
import { systemEnv } from "../../../src/util/env.ts";
import type { Actor, SessionRef } from "../../../src/util/refs.ts";
import { readAll } from "../../log/drafts.ts";
import { connect } from "../../signals/signals.contract.ts";
import type { SessionBackend } from "../session-harness.ts";
import { startTurn } from "../../store/start-turn.ts";

interface TestCommandParts extends SessionBackend {
  readonly signals: Signals;
}

export function commandsContract(name: string, makeBackend: () => Promise<TestCommandParts>): void {
  describe(`commands on ${name}`, () => {
    let parts: TestCommandParts;
    const woken: string[] = [];
    beforeAll(async () => {
      parts = await makeBackend();
      parts.signals.listen(TURNS_CHANNEL, () => woken.push("queued"));
      parts.signals.listen(STOPS_CHANNEL, (text) => woken.push(`stops ${decodeSessionRef(text)?.session}`));
      for (const channel of [TURNS_CHANNEL, STOPS_CHANNEL])
        await connect(parts.signals, parts.signals, channel);
    });
    afterAll(async () => {
      await Promise.all([parts.log.close(), parts.store.close(), parts.signals.close()]);
    });

    async function newActor(): Promise<Actor> {
      const actor = { tenant: `tenant-${randomUUID()}`, user: `user-${randomUUID()}` };
      await parts.store.tenants.create({ id: actor.tenant, name: "Test" });
      return actor;
    }

    async function created(): Promise<SessionRef> {
      const actor = await newActor();
      const { id } = await createSession(parts, actor, {}, systemEnv);
      return { tenant: actor.tenant, session: id };
    }

    const typesIn = async (ref: SessionRef, after?: string) =>
      (await readAll(parts.log, ref, after)).map(({ event }) =>
        "message" in event ? `${event.type} ${event.message}` : event.type,
      );

    test("creates a session with its log once, however often it is requested", async () => {
      const actor = await newActor();
      const options = { id: `s-${randomUUID()}`, title: "Stocks" };
      const ref = { tenant: actor.tenant, session: options.id };
      const all = await Promise.all(
        Array.from({ length: 5 }, () => createSession(parts, actor, options, systemEnv)),
      );
      expect(new Set(all.map(({ number }) => number)).size).toBe(1);
      // A creator that was overtaken between its epoch and its claim writes an idle takeover.
      const [first, ...late] = await typesIn(ref);
      expect(first).toBe("session.start");
      expect(late.filter((type) => type !== "turn.takeover")).toEqual([]);
      const { state } = await readHistory(parts, ref);
      expect(state).toMatchObject({ session: options.id, title: "Stocks", number: all[0]?.number });
      const other = { ...actor, user: "else" };
      await expect(createSession(parts, other, options, systemEnv)).rejects.toMatchObject({ code: "EXISTS" });
      expect(await ensureSessionLog(parts, ref)).toBe(false);
      // The log has expired and must not be started a second time. Late creators must not block archiving.
      expect(await archiveSession(parts, ref)).toMatchObject({
        isBlocked: false,
        events: 1 + late.length,
      });
      await parts.log.remove(ref);
      expect(await ensureSessionLog(parts, ref)).toBe(false);
      await expect(ensureSessionLog(parts, { ...ref, tenant: "else" })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    });

    test("starts the log on the first message if the creator died before it did", async () => {
      const actor = await newActor();
      const id = `s-${randomUUID()}`;
      const ref = { tenant: actor.tenant, session: id };
      await parts.store.sessions.create(actor, { id });
      expect(await sendMessage(parts, ref, { id: "m", text: "Hello" })).toBe("sent");
      expect(await typesIn(ref)).toEqual(["session.start", "message.add m"]);
      expect(await ensureSessionLog(parts, ref)).toBe(false);
    });

    test("a message waits, is in the log and wakes a worker, and a repeated one changes nothing", async () => {
      const ref = await created();
      const message = {
        id: "m1",
        text: "VNM?",
        userId: "an",
        files: [{ url: "https://x.test/a" }],
        options: { a: 1 },
      };
      expect(await sendMessage(parts, ref, message)).toBe("sent");
      await expect.poll(() => woken).toContain("queued");
      expect(await sendMessage(parts, ref, { ...message, text: "other" })).toBe("already");
      await Promise.all([1, 2, 3].map(() => sendMessage(parts, ref, { id: "strange id/漢", text: "x" })));
      expect(await typesIn(ref)).toEqual(["session.start", "message.add m1", "message.add strange id/漢"]);
      const { state } = await readHistory(parts, ref);
      const shown = { id: "m1", text: "VNM?", by: "an", files: message.files };
      expect(state.waiting[0]).toMatchObject(shown);
      const started = await startTurn(parts.store, ref);
      expect(started?.row).toMatchObject({ message: shown, options: { a: 1 } });
      await expect(sendMessage(parts, { ...ref, tenant: "else" }, message)).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    });

    test("sends a message of any length, and stores a long one completely in a blob", async () => {
      const ref = await created();
      // Lengths around the size limit of an event, and far above it.
      for (const length of [63_000, 63_900, 64_100, 64_900, 64_990, 65_100, 66_000, 400_000]) {
        const text = "x".repeat(length);
        expect(await sendMessage(parts, ref, { id: `m${length}`, text })).toBe("sent");
      }
      const { state } = await readHistory(parts, ref);
      const messages = [...state.waiting];
      expect(messages).toHaveLength(8);
      expect(messages[0]).toMatchObject({ whole: null });
      const long = messages.at(-1);
      expect(long?.whole).toMatchObject({ size: 400_000, media_type: "text/plain" });
      expect(long?.text.length).toBeLessThan(5_000);
      const blob = await parts.store.blobs.get(ref, long?.whole?.blob ?? "");
      expect(blob?.body.byteLength).toBe(400_000);
      const [waiting] = (await parts.store.queuedMessages.list(ref)).slice(-1);
      expect(waiting).toMatchObject({ id: "m400000", text: long?.text, whole: long?.whole });
      const again = { id: "m400000", text: "x".repeat(400_000) };
      expect(await sendMessage(parts, ref, again)).toBe("already");
    });

    test("a message claims a log that has expired or was lost", async () => {
      const ref = await created();
      const { cursor } = await archiveSession(parts, ref);
      await parts.log.remove(ref);
      const texts = ["a", "b", "c"];
      await Promise.all(texts.map((id) => sendMessage(parts, ref, { id, text: id })));
      await sendMessage(parts, ref, { id: "d", text: "d" });
      expect(await archiveSession(parts, ref)).toMatchObject({ isBlocked: false });
      const events = await typesIn(ref, cursor);
      expect(events[0]).toBe("turn.takeover");
      expect(events.filter((event) => event.startsWith("message.add")).toSorted()).toEqual(
        [...texts, "d"].map((id) => `message.add ${id}`),
      );
    });

    test("leaves a missing log to the worker while a turn runs", async () => {
      const ref = await created();
      await sendMessage(parts, ref, { id: "m1", text: "x" });
      await archiveSession(parts, ref);
      await startTurn(parts.store, ref);
      await parts.log.remove(ref);
      expect(await sendMessage(parts, ref, { id: "m2", text: "x" })).toBe("sent");
      expect(await parts.log.head(ref)).toBeNull();
      expect((await parts.store.outbox.undelivered(ref, 10)).map(({ key }) => key)).toEqual(["m/m2"]);
      expect(await parts.store.queuedMessages.list(ref)).toHaveLength(1);
    });

    test("sends a message although the log is unreachable", async () => {
      const ref = await created();
      const log = { ...parts.log, append: () => Promise.reject(new LogError("UNAVAILABLE")) };
      expect(await sendMessage({ ...parts, log }, ref, { id: "m", text: "x" })).toBe("sent");
      expect(await sendMessage(parts, ref, { id: "m", text: "x" })).toBe("already");
      expect(await typesIn(ref)).toEqual(["session.start", "message.add m"]);
    });

    test("a message can be withdrawn until a turn takes it", async () => {
      const ref = await created();
      for (const id of ["a", "b"]) await sendMessage(parts, ref, { id, text: id });
      expect(await withdrawMessage(parts, ref, "b")).toBe(true);
      expect(await withdrawMessage(parts, ref, "b")).toBe(false);
      expect(await withdrawMessage(parts, ref, "none")).toBe(false);
      await startTurn(parts.store, ref);
      expect(await withdrawMessage(parts, ref, "a")).toBe(false);
      expect((await typesIn(ref)).slice(1)).toEqual(["message.add a", "message.add b", "message.remove b"]);
      expect(await sendMessage(parts, ref, { id: "b", text: "again" })).toBe("already");
      await expect(withdrawMessage(parts, { ...ref, tenant: "else" }, "a")).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    });

    test("a stop is stored, returns a receipt and wakes a worker", async () => {
      const ref = await created();
      const over = { receipt: "over", turn: null };
      expect(await stopTurn(parts, ref, {})).toEqual(over);
      await sendMessage(parts, ref, { id: "m", text: "x" });
      const turn = (await startTurn(parts.store, ref))?.row.turn ?? "";
      expect(await stopTurn(parts, ref, { turn: "other" })).toEqual(over);
      expect(await stopTurn(parts, ref, { turn, userId: "an" })).toEqual({ receipt: "stopping", turn });
      expect(await stopTurn(parts, ref, { userId: "binh" })).toEqual({ receipt: "already", turn });
      await expect.poll(() => woken.filter((line) => line === `stops ${ref.session}`)).toHaveLength(2);
      expect((await parts.store.running.get(ref))?.stop).toMatchObject({ by: "an" });
    });

    test("a claim fails as MOVED if the log contains more than the claimer has read", async () => {
      const ref = await created();
      let made = 0;
      const event = async () => {
        const last = (await parts.log.head(ref))?.last ?? "";
        // The previous writer appends until the last moment.
        if (made++ < 2) await sendMessage(parts, ref, { id: `m${made}`, text: "x" });
        return {
          event: { type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] },
          last,
        } as const;
      };
      await claimSession(parts, ref, { by: "test", event });
      expect(made).toBe(3);
      expect(await typesIn(ref)).toEqual([
        "session.start",
        "message.add m1",
        "message.add m2",
        "turn.takeover",
      ]);
    });

    test("an invalid session name wakes no worker", () => {
      for (const text of ["", "x", "null", "[]", '{"tenant":1,"session":"s"}', '{"tenant":"t"}'])
        expect(decodeSessionRef(text)).toBeNull();
    });
  });
}
