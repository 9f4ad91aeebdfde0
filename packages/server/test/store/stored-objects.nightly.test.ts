/**
 * Tests objects in S3 over crashes and erasures: no object without a row, no row without an end, and nothing left of an
 * erased session, user or tenant.
 */
import { createHash, randomUUID } from "node:crypto";

import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { completeUpload, readUpload, startUpload, uploadFile } from "../../src/session/blobs/upload.ts";
import type { SignedUpload } from "../../src/store/objects.ts";
import { createMemoryLog } from "../../src/log/memory.ts";
import { eraseSession, eraseUser, finishErasures } from "../../src/session/lifecycle/erase.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { newSession } from "./harness.ts";
import { type S3Harness, s3Harness } from "./s3-harness.ts";

const HOUR_MS = 60 * 60 * 1_000;
const log = createMemoryLog();
let harness: S3Harness;
let backend: { store: S3Harness["store"]; log: typeof log };

beforeAll(async () => {
  harness = await s3Harness();
  backend = { store: harness.store, log };
});
afterAll(() => harness.store.close());

/** Deletes everything that is due now. */
const finish = () => finishErasures(backend, { graceMs: 0 });

/** Waits until nothing can write an object any more. */
async function finishLater(): Promise<void> {
  await finish();
  await harness.wait(2 * HOUR_MS);
  await finish();
}

async function rows(): Promise<number> {
  const found = await harness.db.selectFrom("stored_objects").select("key").execute();
  return found.length;
}

async function rowsOf({ tenant, session }: SessionRef): Promise<number> {
  const of = { tenant_id: tenant, session_id: session };
  const query = harness.db.selectFrom("stored_objects").select("key");
  return (await query.where((eb) => eb.and(of)).execute()).length;
}

beforeEach(async () => {
  harness.s3.failIf(null);
  await finishLater();
});

const sha256 = (body: Uint8Array) => createHash("sha256").update(body).digest("base64");

function input(id: string, body: Buffer) {
  return { id, name: id, mediaType: "text/html", userId: null, size: body.byteLength, sha256: sha256(body) };
}

async function sign(ref: SessionRef, id: string, body: Buffer): Promise<SignedUpload> {
  const started = await startUpload(backend, ref, input(id, body));
  if (started === null || "id" in started) throw new Error("the upload was not started");
  return started;
}

async function send({ url, method, headers }: SignedUpload, body: Buffer): Promise<number> {
  const response = await fetch(url, { method, headers, body: new Uint8Array(body) });
  await response.arrayBuffer();
  return response.status;
}

async function* stream(body: Buffer): AsyncIterable<Uint8Array> {
  yield body;
}

/** Writes the canary to a blob, an upload through the gateway, and one that the client sends. */
async function fill(ref: SessionRef, canary: string): Promise<void> {
  const body = Buffer.from(`content with ${canary}`);
  await backend.store.blobs.put(ref, { id: "b", mediaType: "text/plain", body });
  await uploadFile(backend, ref, { id: "u", name: canary, userId: null, body: stream(body) });
  await send(await sign(ref, "direct", body), body);
  await completeUpload(backend, ref, "direct");
  // The client has sent it, and never completes it.
  await send(await sign(ref, "open", body), body);
}

const erasures: readonly [string, (ref: SessionRef, user: string) => Promise<unknown>][] = [
  ["a session", (ref) => eraseSession(backend, ref)],
  ["a user", (ref, user) => eraseUser(backend, ref.tenant, user)],
  ["a tenant", (ref) => backend.store.tenants.remove(ref.tenant)],
  [
    "what is too old",
    async (ref) => {
      await runSql(harness.url, `update sessions set updated_at = 'epoch' where tenant_id = '${ref.tenant}'`);
      await backend.store.sessions.removeExpired({ olderThanMs: 1_000_000_000_000, limit: 10 });
    },
  ],
];

test.each(erasures)("nothing is left in the bucket after the erasure of %s", async (_, erase) => {
  const [erased, retained] = [`erased${randomUUID()}`, `retained${randomUUID()}`];
  const [{ ref, actor }, { ref: other }] = [await newSession(backend.store), await newSession(backend.store)];
  await fill(ref, erased);
  await fill(other, retained);
  expect(harness.s3.search(erased)).toHaveLength(4);
  await erase(ref, actor.user);
  await finish();
  expect(harness.s3.search(erased)).toEqual([]);
  expect(harness.s3.search(retained)).toHaveLength(4);
  await finishLater();
  expect(await rowsOf(ref)).toBe(0);
  expect((await backend.store.blobs.get(other, "b"))?.body.byteLength).toBeGreaterThan(0);
  await eraseSession(backend, other);
});

test("an erasure is repeated until the bucket accepts it", async () => {
  const canary = randomUUID();
  const { ref } = await newSession(backend.store);
  await fill(ref, canary);
  await eraseSession(backend, ref);
  harness.s3.failIf(() => true);
  await expect(finish()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(harness.s3.search(canary)).toHaveLength(4);
  harness.s3.failIf(null);
  await harness.wait(HOUR_MS);
  await finish();
  expect(harness.s3.search(canary)).toEqual([]);
});

test("a process that dies at any step of a write leaves nothing", async () => {
  const body = Buffer.alloc(9 * 1024 * 1024, "x");
  const steps: readonly ((request: { method: string; query: URLSearchParams }) => boolean)[] = [
    ({ method }) => method === "PUT",
    ({ method, query }) => method === "POST" && query.has("uploads"),
    // The parts arrive, but neither the end of the write nor its abort.
    ({ method, query }) => query.has("uploadId") && method !== "PUT",
  ];
  const { ref } = await newSession(backend.store);
  for (const [n, fails] of steps.entries()) {
    harness.s3.failIf(fails);
    const upload = uploadFile(backend, ref, { id: `u${n}`, name: "u", userId: null, body: stream(body) });
    await expect(upload).rejects.toMatchObject({ code: "UNAVAILABLE" });
    if (n === 0) {
      const put = backend.store.blobs.put(ref, { id: "b", mediaType: "", body });
      await expect(put).rejects.toMatchObject({ code: "UNAVAILABLE" });
    }
    harness.s3.failIf(null);
  }
  expect(harness.s3.openParts()).toHaveLength(1);
  expect(await rows()).toBe(4);
  await finish();
  // Another process might still be writing.
  expect(await rows()).toBe(4);
  await finishLater();
  expect([await rows(), harness.s3.objects.size, harness.s3.openParts().length]).toEqual([0, 0, 0]);
});

test("a row that can't be written after its object leaves nothing", async () => {
  const { ref } = await newSession(backend.store);
  const release = harness.s3.hold();
  const put = backend.store.blobs.put(ref, { id: "b", mediaType: "", body: Buffer.from("late") });
  // Checked below.
  put.catch(() => undefined);
  await expect.poll(() => rowsOf(ref)).toBe(1);
  await eraseSession(backend, ref);
  release();
  await expect(put).rejects.toMatchObject({ code: "NOT_FOUND" });
  await finishLater();
  expect([await rows(), harness.s3.objects.size]).toEqual([0, 0]);
});

test("an upload that was erased can't come back through its URL", async () => {
  const { ref } = await newSession(backend.store);
  const body = Buffer.from("a late body");
  const signed = await sign(ref, "u", body);
  await eraseSession(backend, ref);
  await finish();
  expect(await send(signed, body)).toBe(200);
  expect(harness.s3.objects.size).toBe(1);
  await finishLater();
  expect([await rows(), harness.s3.objects.size]).toEqual([0, 0]);
});

test("an upload that was never completed is pruned with its object", async () => {
  const { ref } = await newSession(backend.store);
  const body = Buffer.from("never completed");
  await send(await sign(ref, "u", body), body);
  await harness.wait(3 * HOUR_MS);
  expect(await backend.store.uploads.prune({ olderThanMs: HOUR_MS, limit: 10 })).toBeGreaterThanOrEqual(1);
  await finishLater();
  expect([await rowsOf(ref), harness.s3.search("never completed")]).toEqual([0, []]);
});

test("a client's upload counts before it is sent, and is readable once it is complete", async () => {
  const { ref } = await newSession(backend.store);
  const { ref: foreign } = await newSession(backend.store);
  const body = Buffer.from("<html>");
  const tooLarge = { sessionBytes: body.byteLength - 1 };
  await expect(startUpload(backend, ref, input("u", body), tooLarge)).rejects.toMatchObject({
    code: "TOO_LARGE",
  });
  await expect(startUpload(backend, ref, input("u", body), { bytes: 1 })).rejects.toMatchObject({
    code: "TOO_LARGE",
  });
  const signed = await sign(ref, "u", body);
  // The declared bytes of the first upload count.
  const second = startUpload(backend, ref, input("v", body), { sessionBytes: 2 * body.byteLength - 1 });
  await expect(second).rejects.toMatchObject({ code: "TOO_LARGE" });
  await expect(completeUpload(backend, ref, "u")).rejects.toMatchObject({ code: "CONFLICT" });
  expect(await readUpload(backend, ref, "u")).toBeNull();
  expect(await send(signed, Buffer.from("<HTML>"))).toBe(400);
  expect(await send(signed, body)).toBe(200);
  expect(await readUpload(backend, ref, "u")).toBeNull();
  for (const other of [foreign, { ...ref, tenant: foreign.tenant }])
    await expect(completeUpload(backend, other, "u")).rejects.toMatchObject({ code: "NOT_FOUND" });
  const done = await completeUpload(backend, ref, "u");
  expect(done).toMatchObject({ id: "u", size: body.byteLength, mediaType: "text/html" });
  expect(await completeUpload(backend, ref, "u")).toEqual(done);
  // A repeat of the start returns the file, and other content is refused.
  expect(await startUpload(backend, ref, input("u", body))).toEqual(done);
  const changed = startUpload(backend, ref, { ...input("u", body), sha256: sha256(Buffer.from("other!")) });
  await expect(changed).rejects.toMatchObject({ code: "CONFLICT" });
  // The URL is still valid, and can only write the same bytes.
  expect(await send(signed, Buffer.from("<HTML>"))).toBe(400);
});

test("a chunk can't be added to an upload that a client sends", async () => {
  const { ref } = await newSession(backend.store);
  await sign(ref, "u", Buffer.from("x"));
  const added = backend.store.uploads.add(ref, "u", { attempt: 1, bytes: Buffer.from("more") });
  await expect(added).rejects.toMatchObject({ code: "CONFLICT" });
  await expect(backend.store.uploads.complete(ref, "u", 1)).rejects.toMatchObject({ code: "CONFLICT" });
});

test("a write that took too long is refused instead of using a deleted object", async () => {
  const { ref } = await newSession(backend.store);
  const body = Buffer.from("slow");
  const started = await backend.store.uploads.begin(ref, { id: "u", name: "u", mediaType: "", by: null });
  if (started === "already" || started.object === null) throw new Error("the upload has no object");
  await backend.store.objects.write(started.object, stream(body));
  await harness.wait(2 * HOUR_MS);
  await finish();
  await expect(backend.store.uploads.complete(ref, "u", 1)).rejects.toMatchObject({ code: "CONFLICT" });
});

test("finds and deletes objects without a row, after a restore of an older backup", async () => {
  const { ref } = await newSession(backend.store);
  await backend.store.blobs.put(ref, { id: "retained", mediaType: "", body: Buffer.from("retained") });
  await backend.store.blobs.put(ref, { id: "lost", mediaType: "", body: Buffer.from("lost") });
  const lost = (await backend.store.blobs.find(ref, "lost"))?.object?.key ?? "";
  await runSql(
    harness.url,
    `delete from blobs where id = 'lost'`,
    `delete from stored_objects where key = '${lost}'`,
  );
  const { objects } = backend.store;
  expect((await objects.findUnknown({ after: null, olderThanMs: HOUR_MS })).keys).toEqual([]);
  const { keys, next } = await objects.findUnknown({ after: null, olderThanMs: 0 });
  expect(keys).toEqual([lost]);
  expect((await objects.findUnknown({ after: next, olderThanMs: 0 })).next).toBeNull();
  const retained = (await backend.store.blobs.find(ref, "retained"))?.object?.key ?? "";
  expect(await objects.deleteUnknown([...keys, retained])).toBe(1);
  expect(harness.s3.objects.has(retained)).toBe(true);
  expect(harness.s3.objects.has(lost)).toBe(false);
});

test("keys name tenant and session without showing them, and can't be guessed", async () => {
  const { ref, actor } = await newSession(backend.store);
  const hostile = { tenant: ref.tenant, session: "a..@b:c" };
  await backend.store.sessions.create(actor, { id: hostile.session, firstEpoch: 1 });
  for (const id of ["../../x", "%2e%2e/y"])
    await backend.store.blobs.put(hostile, { id, mediaType: "", body: Buffer.from(id) });
  const found = await Promise.all(["../../x", "%2e%2e/y"].map((id) => backend.store.blobs.find(hostile, id)));
  const keys = found.map((blob) => blob?.object?.key ?? "");
  for (const key of keys) expect(key).toMatch(/^[\w-]{43}\/[\w-]{43}\/[\w-]{32}$/);
  const [first = "", second = ""] = keys;
  expect(first.slice(0, 88)).toBe(second.slice(0, 88));
  expect(first).not.toBe(second);
});
