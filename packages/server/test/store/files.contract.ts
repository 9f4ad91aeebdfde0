/** The store contract of attachments and uploads. */
import { expect, test } from "vitest";

import { MAX_CHUNK_BYTES, type NewUpload } from "../../src/store/uploads.ts";
import { MAX_PIECE_CHARS, type NewAttachment } from "../../src/store/attachments.ts";
import { type MakeStore, newSession, newTenant, unique, isWhole } from "./harness.ts";
import { suite } from "./suite.ts";

const file = (id: string, text: readonly string[]): NewAttachment => ({
  id,
  name: `${id}.txt`,
  url: `https://files.example/${id}`,
  mediaType: "text/plain",
  size: 7,
  isCut: id === "cut",
  turn: "t1",
  text,
});

const upload = (id: string, by: string | null = null): NewUpload => ({
  id,
  name: `${id}.bin`,
  mediaType: "application/octet-stream",
  by,
});

const bytes = (text: string) => new Uint8Array(Buffer.from(text));

export function filesContract(name: string, makeStore: MakeStore): void {
  suite(name, "attachments and uploads", makeStore, (store, advance) => {
    test("stores a text in pieces and reads it piece by piece", async () => {
      const { ref } = await newSession(store());
      const text = Array.from({ length: 120 }, (_, n) => `piece ${n}`);
      const { attachments } = store();
      expect(await attachments.add(ref, file("a", text))).toBe("added");
      expect(await attachments.add(ref, file("a", ["other"]))).toBe("already");
      const { text: _, ...facts } = file("a", text);
      const chars = text.join("").length;
      expect(await attachments.get(ref, "a")).toEqual({
        ...facts,
        chars,
        pieces: 120,
        addedAt: expect.any(Number) as number,
      });
      await attachments.add(ref, file("cut", text));
      expect((await attachments.list(ref, { limit: 2 })).map(({ isCut }) => isCut)).toEqual([true, false]);
      expect(await attachments.pieces(ref, "a", { from: 0, limit: 2 })).toEqual([
        { n: 0, at: 0, line: 1, text: "piece 0" },
        { n: 1, at: 7, line: 1, text: "piece 1" },
      ]);
      const rest = await attachments.pieces(ref, "a", { from: 117, limit: 100 });
      expect(rest.map((piece) => piece.text)).toEqual(text.slice(117));
      expect(await attachments.pieces(ref, "a", { from: 120, limit: 1 })).toEqual([]);
      expect(await attachments.pieces(ref, "none", { from: 0, limit: 1 })).toEqual([]);
    });

    test("finds a piece by a character or a line", async () => {
      const { ref } = await newSession(store());
      const { attachments } = store();
      await attachments.add(ref, file("a", ["one\ntwo\n", "three", " and a half\nfour\n", "five"]));
      await attachments.add(ref, file("empty", []));
      const at = (place: { char: number } | { line: number }) => attachments.pieceAt(ref, "a", place);
      expect(await Promise.all([0, 7, 8, 12, 13, 1_000].map((char) => at({ char })))).toEqual([
        0, 0, 1, 1, 2, 3,
      ]);
      // The third line starts in the second piece, and a reader that continues from the first one finds it.
      expect(await Promise.all([1, 2, 3, 4, 5, 9].map((line) => at({ line })))).toEqual([0, 0, 0, 2, 2, 3]);
      expect(await attachments.pieceAt(ref, "empty", { char: 0 })).toBeNull();
      expect(await attachments.pieceAt(ref, "none", { line: 1 })).toBeNull();
    });

    test("lists the newest first", async () => {
      const { ref } = await newSession(store());
      for (const id of ["b", "a", "c"]) await store().attachments.add(ref, file(id, []));
      const ids = async (limit: number) =>
        (await store().attachments.list(ref, { limit })).map(({ id }) => id);
      expect(await ids(10)).toEqual(["c", "a", "b"]);
      expect(await ids(2)).toEqual(["c", "a"]);
    });

    test("replaces characters that a text column can't store, and refuses what is too long", async () => {
      const { ref } = await newSession(store());
      await store().attachments.add(ref, file("odd", ["a\0b\ud800c", "", "漢字 🙂"]));
      const odd = await store().attachments.pieces(ref, "odd", { from: 0, limit: 3 });
      expect(odd.map((piece) => piece.text)).toEqual(["a\ufffdb\ufffdc", "", "漢字 🙂"]);
      const long = file("long", ["x".repeat(MAX_PIECE_CHARS + 1)]);
      await expect(store().attachments.add(ref, long)).rejects.toMatchObject({ code: "TOO_LARGE" });
      const many = { ...file("m", []), size: -1 };
      await expect(store().attachments.add(ref, many)).rejects.toMatchObject({ code: "INVALID" });
    });

    test("stores an upload in chunks, and reads it once it is complete", async () => {
      const { ref } = await newSession(store());
      const { uploads } = store();
      expect(await uploads.begin(ref, upload("u", "an"))).toEqual({ attempt: 1, object: null });
      for (const part of ["one", "two"]) await uploads.add(ref, "u", { attempt: 1, bytes: bytes(part) });
      expect(await uploads.chunk(ref, "u", 0)).toBeNull();
      expect(await uploads.get(ref, "u")).toMatchObject({ size: 6, chunks: 2, isComplete: false });
      const done = await uploads.complete(ref, "u", 1);
      expect(done).toEqual({
        ...upload("u", "an"),
        size: 6,
        chunks: 2,
        isComplete: true,
        object: null,
        createdAt: expect.any(Number) as number,
      });
      expect(await uploads.chunk(ref, "u", 1)).toEqual(bytes("two"));
      expect(await uploads.chunk(ref, "u", 2)).toBeNull();
      expect(await uploads.begin(ref, upload("u"))).toBe("already");
      expect(await uploads.begin(ref, upload("v"))).toEqual({ attempt: 1, object: null });
      const late = uploads.add(ref, "u", { attempt: 1, bytes: bytes("x") });
      await expect(late).rejects.toMatchObject({ code: "CONFLICT" });
    });

    test("an interrupted upload starts again, and its first attempt is refused", async () => {
      const { ref } = await newSession(store());
      const { uploads } = store();
      await uploads.begin(ref, upload("u"));
      await uploads.add(ref, "u", { attempt: 1, bytes: bytes("old") });
      expect(await uploads.begin(ref, upload("u"))).toEqual({ attempt: 2, object: null });
      const late = [
        () => uploads.add(ref, "u", { attempt: 1, bytes: bytes("late") }),
        () => uploads.complete(ref, "u", 1),
      ];
      for (const work of late) await expect(work()).rejects.toMatchObject({ code: "CONFLICT" });
      await uploads.add(ref, "u", { attempt: 2, bytes: bytes("new") });
      expect(await uploads.complete(ref, "u", 2)).toMatchObject({ size: 3, chunks: 1 });
      expect(await uploads.chunk(ref, "u", 0)).toEqual(bytes("new"));
    });

    test("one of many concurrent attempts is stored completely", async () => {
      const { ref } = await newSession(store());
      const { uploads } = store();
      const tries = Array.from({ length: 8 }, async (_, n) => {
        const started = await uploads.begin(ref, upload("u"));
        if (started === "already") return null;
        const chunk = { attempt: started.attempt, bytes: bytes(String(n)) };
        for (let at = 0; at < 5; at++) await uploads.add(ref, "u", chunk);
        return (await uploads.complete(ref, "u", started.attempt)).size;
      });
      const ends = await Promise.allSettled(tries);
      const whole = ends.filter((end) => end.status === "fulfilled" && end.value !== null);
      expect(whole).toHaveLength(1);
      const parts = await Promise.all([0, 1, 2, 3, 4].map((n) => uploads.chunk(ref, "u", n)));
      expect(new Set(parts.map(String)).size).toBe(1);
    });

    test("concurrent uploads of a session don't exceed its limit together", async () => {
      const { ref } = await newSession(store());
      const { uploads } = store();
      const add = async (id: string) => {
        await uploads.begin(ref, upload(id));
        await uploads.add(ref, id, { attempt: 1, bytes: bytes("1234"), maxSessionBytes: 10 });
      };
      const ends = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => add(`u${n}`)));
      const refused = ends.filter((end) => end.status === "rejected");
      expect(refused).toHaveLength(6);
      for (const { reason } of refused) expect(reason).toMatchObject({ code: "TOO_LARGE" });
      const sizes = await Promise.all(ends.map(async (_, n) => (await uploads.get(ref, `u${n}`))?.size ?? 0));
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(8);
      // A limit that is reached exactly is not exceeded.
      await uploads.add(ref, `u${sizes.indexOf(0)}`, { attempt: 1, bytes: bytes("12"), maxSessionBytes: 10 });
    });

    test("limits chunks and ids", async () => {
      const { ref } = await newSession(store());
      await store().uploads.begin(ref, upload("u"));
      for (const size of [0, MAX_CHUNK_BYTES + 1]) {
        const work = store().uploads.add(ref, "u", { attempt: 1, bytes: new Uint8Array(size) });
        await expect(work).rejects.toMatchObject({ code: "TOO_LARGE" });
      }
      const missing = store().uploads.add(ref, "none", { attempt: 1, bytes: bytes("x") });
      await expect(missing).rejects.toMatchObject({ code: "NOT_FOUND" });
      await expect(store().uploads.begin(ref, upload("a\0"))).rejects.toMatchObject({ code: "INVALID" });
      await expect(store().attachments.add(ref, file("", []))).rejects.toMatchObject({ code: "INVALID" });
      expect(await store().uploads.remove(ref, "u")).toBe(true);
      expect(await store().uploads.remove(ref, "u")).toBe(false);
    });

    test("is not visible to another tenant or session", async () => {
      const { actor, ref } = await newSession(store());
      await store().attachments.add(ref, file("a", ["secret"]));
      await store().uploads.begin(ref, upload("u"));
      await store().uploads.add(ref, "u", { attempt: 1, bytes: bytes("secret") });
      await store().uploads.complete(ref, "u", 1);
      const session = unique("session");
      await store().sessions.create(actor, { id: session });
      const foreign = [
        { ...ref, tenant: await newTenant(store()) },
        { ...ref, session },
      ];
      for (const other of foreign) {
        expect(await store().attachments.get(other, "a")).toBeNull();
        expect(await store().attachments.list(other, { limit: 5 })).toEqual([]);
        expect(await store().attachments.pieces(other, "a", { from: 0, limit: 5 })).toEqual([]);
        expect(await store().uploads.get(other, "u")).toBeNull();
        expect(await store().uploads.chunk(other, "u", 0)).toBeNull();
        expect(await store().uploads.remove(other, "u")).toBe(false);
      }
      const [stranger] = foreign;
      if (stranger === undefined) throw new Error("no stranger");
      await expect(store().attachments.add(stranger, file("b", []))).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
      await expect(store().uploads.begin(stranger, upload("w"))).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    test.runIf(isWhole(name))("is erased with the session, and the user name with the user", async () => {
      const { actor, ref } = await newSession(store());
      await store().attachments.add(ref, file("a", ["text"]));
      await store().uploads.begin(ref, upload("u", "guest"));
      await store().sessions.removeUser(actor.tenant, "guest");
      expect(await store().uploads.get(ref, "u")).toMatchObject({ by: null });
      await store().sessions.remove(ref);
      expect(await store().attachments.get(ref, "a")).toBeNull();
      expect(await store().uploads.get(ref, "u")).toBeNull();
    });

    test.runIf(isWhole(name))("drops incomplete uploads after a while", async () => {
      const { ref } = await newSession(store());
      await store().uploads.begin(ref, upload("done"));
      await store().uploads.complete(ref, "done", 1);
      await store().uploads.begin(ref, upload("left"));
      await advance(3_600_000);
      await store().uploads.begin(ref, upload("fresh"));
      await store().uploads.prune({ olderThanMs: 1_800_000, limit: 1_000 });
      expect(await store().uploads.get(ref, "left")).toBeNull();
      expect(await store().uploads.get(ref, "done")).not.toBeNull();
      expect(await store().uploads.get(ref, "fresh")).not.toBeNull();
    });
  });
}
