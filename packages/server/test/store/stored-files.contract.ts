/** The contract of files, wherever their bytes are: uploads as a client sends them, and blobs. */
import { seededRandom } from "@turnstream/testkit/util/seeded-random.ts";
import { expect, test } from "vitest";

import { readUpload, uploadFile, uploadIdOf } from "../../src/session/blobs/upload.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { type MakeStore, newSession, unique } from "./harness.ts";
import { suite } from "./suite.ts";

const MIB = 1024 * 1024;
const random = seededRandom(1);

/** Returns other bytes in each call. */
function makeBytes(size: number): Buffer {
  return Buffer.alloc(size).map(() => random() * 256) as Buffer;
}

/** In the pieces in which a network delivers them. */
async function* inPieces(body: Uint8Array, fails = false): AsyncIterable<Uint8Array> {
  for (let at = 0; at < body.byteLength; at += 50_000) yield body.subarray(at, at + 50_000);
  if (fails) throw new RangeError("the client left");
}

const input = (id: string, body: Uint8Array, fails = false) => ({
  id,
  name: `${id}.html`,
  mediaType: "text/html",
  userId: null,
  body: inPieces(body, fails),
});

async function read(store: ClosableStore, ref: SessionRef, id: string): Promise<Buffer | null> {
  const upload = await readUpload({ store }, ref, id);
  if (upload === null) return null;
  const parts: Uint8Array[] = [];
  for await (const part of upload.body) parts.push(part);
  return Buffer.concat(parts);
}

export function storedFilesContract(name: string, makeStore: MakeStore): void {
  suite(name, "stored files", makeStore, (store) => {
    test.each([0, 1, MIB, 9 * MIB + 5])("an upload of %i bytes is read unchanged", async (size) => {
      const { ref } = await newSession(store());
      const body = makeBytes(size);
      const uploaded = await uploadFile({ store: store() }, ref, input("u", body));
      expect(uploaded).toMatchObject({ id: "u", name: "u.html", mediaType: "text/html", size });
      expect(uploadIdOf(uploaded.url)).toBe("u");
      expect((await read(store(), ref, "u"))?.equals(body)).toBe(true);
      // In its own session only.
      const { ref: foreign } = await newSession(store());
      expect(await read(store(), foreign, "u")).toBeNull();
      expect(await read(store(), { ...ref, tenant: foreign.tenant }, "u")).toBeNull();
    });

    test("a repeated upload is compared, and an interrupted one starts again", async () => {
      const { ref } = await newSession(store());
      const [body, other] = [makeBytes(2 * MIB + 1), makeBytes(2 * MIB + 1)];
      const backend = { store: store() };
      await expect(uploadFile(backend, ref, input("u", other, true))).rejects.toThrow("the client left");
      expect(await read(store(), ref, "u")).toBeNull();
      const uploaded = await uploadFile(backend, ref, input("u", body));
      expect(await uploadFile(backend, ref, input("u", body))).toEqual(uploaded);
      const changed = uploadFile(backend, ref, input("u", other));
      await expect(changed).rejects.toMatchObject({ code: "CONFLICT" });
      expect((await read(store(), ref, "u"))?.equals(body)).toBe(true);
    });

    test("concurrent uploads of one id store one of them whole", async () => {
      const { ref } = await newSession(store());
      const bodies = Array.from({ length: 4 }, (_, n) => Buffer.alloc(MIB + n, n));
      const tries = bodies.map((body) => uploadFile({ store: store() }, ref, input("u", body)));
      const ends = await Promise.allSettled(tries);
      expect(ends.filter(({ status }) => status === "fulfilled").length).toBeGreaterThanOrEqual(1);
      const stored = await read(store(), ref, "u");
      expect(bodies.filter((body) => stored?.equals(body))).toHaveLength(1);
    });

    test("limits of a file and of a session count the bytes that arrived", async () => {
      const { ref } = await newSession(store());
      const limits = { bytes: 2 * MIB, sessionBytes: 3 * MIB };
      const send = (id: string, size: number) =>
        uploadFile({ store: store() }, ref, input(id, makeBytes(size)), limits);
      await expect(send("large", 2 * MIB + 1)).rejects.toMatchObject({ code: "TOO_LARGE" });
      await send("one", 2 * MIB);
      await expect(send("two", 2 * MIB)).rejects.toMatchObject({ code: "TOO_LARGE" });
      await send("small", MIB);
      expect(await read(store(), ref, "two")).toBeNull();
    });

    test("a blob is stored once, and a copy outlives its source", async () => {
      const { ref, actor } = await newSession(store());
      const { blobs, sessions } = store();
      const body = new Uint8Array(makeBytes(MIB + 3));
      const blob = { id: "b", mediaType: "image/png", name: "a.png", body };
      expect(await blobs.put(ref, blob)).toBe("stored");
      expect(await blobs.put(ref, { ...blob, body: new Uint8Array(1) })).toBe("already");
      expect(await blobs.get(ref, "b")).toEqual(blob);
      expect(await blobs.find(ref, "b")).toMatchObject({ size: MIB + 3, mediaType: "image/png" });
      const to = { ...ref, session: unique("session") };
      await sessions.create(actor, { id: to.session, firstEpoch: 1 });
      expect(await blobs.copy(ref, to, ["b", "none"])).toBe(1);
      await sessions.remove(ref);
      await store().objects.sweep({ limit: 1_000 });
      expect(await blobs.get(ref, "b")).toBeNull();
      expect(await blobs.get(to, "b")).toEqual(blob);
    });

    test("concurrent puts of one blob store one of them", async () => {
      const { ref } = await newSession(store());
      const put = (n: number) =>
        store().blobs.put(ref, { id: "b", mediaType: "text/plain", body: Buffer.alloc(10, n) });
      const results = await Promise.all(Array.from({ length: 8 }, (_, n) => put(n)));
      expect(results.filter((result) => result === "stored")).toHaveLength(1);
      const winner = results.indexOf("stored");
      expect(Buffer.from((await store().blobs.get(ref, "b"))?.body ?? [])).toEqual(Buffer.alloc(10, winner));
    });

    test("nothing of an erased session can be read or written", async () => {
      const { ref } = await newSession(store());
      await uploadFile({ store: store() }, ref, input("u", makeBytes(10)));
      await store().blobs.put(ref, { id: "b", mediaType: "", body: makeBytes(10) });
      await store().sessions.remove(ref);
      expect([await read(store(), ref, "u"), await store().blobs.get(ref, "b")]).toEqual([null, null]);
      const late = [
        () => store().blobs.put(ref, { id: "c", mediaType: "", body: makeBytes(10) }),
        () => uploadFile({ store: store() }, ref, input("v", makeBytes(10))),
      ];
      for (const work of late) await expect(work()).rejects.toMatchObject({ code: "NOT_FOUND" });
    });
  });
}
