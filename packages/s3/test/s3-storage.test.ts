/** Tests `createS3Storage` with the official SDK against a server that checks every signature. */
import { createHash } from "node:crypto";

import { startS3, type S3Server } from "@turnstream/testkit/servers/start-s3.ts";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { ObjectStorage } from "../../server/src/store/objects.ts";
import { createS3Storage } from "../src/create-s3-storage.ts";

let s3: S3Server;
let storage: ObjectStorage;

beforeAll(async () => {
  s3 = await startS3();
  storage = createS3Storage({ ...s3.options, prefix: "test/" });
});
afterAll(() => s3.stop());

const MIB = 1024 * 1024;
const sha256 = (body: Uint8Array) => createHash("sha256").update(body).digest("base64");
const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const LIFE_MS = 60_000;

async function read(key: string, range?: { start: number; end: number }): Promise<string | null> {
  const body = await storage.get(key, range);
  if (body === null) return null;
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString();
}

async function* streamOf(size: number, fails = false): AsyncIterable<Uint8Array> {
  // One buffer, as `uploadFile` does.
  const part = new Uint8Array(MIB);
  for (let n = 0; n < size; n += part.byteLength) {
    part.fill(n / part.byteLength);
    yield part.subarray(0, Math.min(part.byteLength, size - n));
  }
  if (fails) throw new RangeError("the client left");
}

test("stores, reads, copies and deletes objects", async () => {
  await storage.put("a/1", bytes("hello world"));
  expect(await read("a/1")).toBe("hello world");
  expect(await read("a/1", { start: 6, end: 9 })).toBe("wor");
  expect(await storage.head("a/1")).toEqual({ size: 11, sha256: sha256(bytes("hello world")) });
  expect(await storage.copy("a/1", "b/1")).toBe(true);
  expect(await storage.copy("none", "b/2")).toBe(false);
  expect((await storage.list({ after: "", limit: 10 })).map(({ key }) => key)).toEqual(["a/1", "b/1"]);
  expect((await storage.list({ after: "a/1", limit: 10 })).map(({ key }) => key)).toEqual(["b/1"]);
  await storage.delete(["a/1", "none"]);
  expect([await read("a/1"), await storage.head("a/1"), await read("b/1")]).toEqual([
    null,
    null,
    "hello world",
  ]);
  await storage.deletePrefix("b/");
  expect([...s3.objects.keys()]).toEqual([]);
});

test.each([0, 1, MIB, 8 * MIB, 8 * MIB + 1, 20 * MIB + 7])("stores a stream of %i bytes", async (size) => {
  await storage.put("stream", streamOf(size));
  const expected: Uint8Array[] = [];
  for await (const part of streamOf(size)) expected.push(new Uint8Array(part));
  const stored = s3.objects.get("test/stream");
  expect(stored?.body.equals(Buffer.concat(expected))).toBe(true);
  expect(stored?.type).toBe("application/octet-stream");
  expect(s3.openParts()).toEqual([]);
  await storage.delete(["stream"]);
});

test("a stream that fails leaves no object and no parts", async () => {
  await expect(storage.put("broken", streamOf(20 * MIB, true))).rejects.toThrow("the client left");
  await expect(storage.put("broken", streamOf(10, true))).rejects.toThrow("the client left");
  expect([...s3.objects.keys(), ...s3.openParts()]).toEqual([]);
});

test("deletes the parts of a process that died", async () => {
  // Neither the end nor the abort of the write arrives.
  s3.failIf(({ method, query }) => query.has("uploadId") && method !== "PUT");
  await expect(storage.put("dead", streamOf(9 * MIB))).rejects.toThrow("SlowDown");
  s3.failIf(null);
  expect(s3.openParts()).toEqual(["test/dead"]);
  await storage.deletePrefix("dead");
  expect(s3.openParts()).toEqual([]);
});

const CONTENT = bytes("<script>alert(1)</script>");

async function send(
  key: string,
  change: {
    url?: (url: URL) => void;
    headers?: Record<string, string>;
    body?: Uint8Array;
    method?: string;
  } = {},
): Promise<number> {
  const content = { size: CONTENT.byteLength, sha256: sha256(CONTENT) };
  const signed = await storage.signUpload(key, content, LIFE_MS);
  const url = new URL(signed?.url ?? "");
  change.url?.(url);
  const response = await fetch(url, {
    method: change.method ?? "PUT",
    headers: { ...signed?.headers, ...change.headers },
    body: new Uint8Array(change.body ?? CONTENT),
  });
  await response.arrayBuffer();
  return response.status;
}

test("a signed upload stores exactly the declared content, with a type that no browser runs", async () => {
  expect(await send("up")).toBe(200);
  expect(s3.objects.get("test/up")).toMatchObject({ type: "application/octet-stream" });
  expect(await storage.head("up")).toEqual({ size: CONTENT.byteLength, sha256: sha256(CONTENT) });
  await storage.delete(["up"]);
});

const other = bytes("<script>alert(2)</script>");
test.each([
  ["another key", { url: (url: URL) => (url.pathname = url.pathname.replace("up", "other")) }],
  ["a path out of its folder", { url: (url: URL) => (url.pathname = "/files/test/%2e%2e/up") }],
  ["a longer body", { body: bytes(`${Buffer.from(CONTENT).toString()} `) }],
  ["a shorter body", { body: bytes("<script>") }],
  ["another body of the same length", { body: other }],
  [
    "another body with its own checksum",
    { body: other, headers: { "x-amz-checksum-sha256": sha256(other) } },
  ],
  ["a type that a browser runs", { headers: { "content-type": "text/html" } }],
  ["an additional header", { headers: { "x-amz-acl": "public-read" } }],
  ["a longer life", { url: (url: URL) => url.searchParams.set("X-Amz-Expires", "604800") }],
  ["another bucket", { url: (url: URL) => (url.pathname = url.pathname.replace("files", "backups")) }],
  ["an additional parameter", { url: (url: URL) => url.searchParams.set("acl", "") }],
])("a signed upload refuses %s", async (_, change) => {
  expect(await send("up", change)).toBeGreaterThanOrEqual(400);
  expect([...s3.objects.keys()]).toEqual([]);
});

test("a signed URL ends, and allows one method", async () => {
  await storage.put("down", CONTENT);
  const headers = { contentType: "text/plain", contentDisposition: "attachment", cacheControl: "no-store" };
  const url = (await storage.signDownload("down", headers, LIFE_MS)) ?? "";
  expect(url).not.toContain(s3.options.credentials.secretAccessKey);
  expect(await (await fetch(url)).text()).toBe(Buffer.from(CONTENT).toString());
  expect((await fetch(url, { method: "DELETE" })).status).toBe(403);
  expect((await fetch(url.replace("text%2Fplain", "text%2Fhtml"))).status).toBe(403);
  expect((await fetch(url.replace("attachment", "inline"))).status).toBe(403);
  expect((await fetch(url.replace("/down?", "/other?"))).status).toBe(403);
  s3.advance(LIFE_MS + 1_000);
  expect((await fetch(url)).status).toBe(403);
  s3.advance(-LIFE_MS - 1_000);
  expect(await send("late", { url: () => s3.advance(LIFE_MS + 1_000) })).toBe(403);
  s3.advance(-LIFE_MS - 1_000);
  await storage.delete(["down"]);
});

test("errors of the server reject, and are not mistaken for a missing object", async () => {
  const strict = createS3Storage({ ...s3.options, timeoutMs: 200 });
  s3.failIf(() => true);
  for (const work of [() => strict.get("x"), () => strict.head("x"), () => strict.copy("x", "y")])
    await expect(work()).rejects.toBeInstanceOf(Error);
  s3.failIf(null);
  const release = s3.hold();
  await expect(strict.put("slow", bytes("x"))).rejects.toBeInstanceOf(Error);
  release();
});

test("a wrong secret is refused", async () => {
  const credentials = { ...s3.options.credentials, secretAccessKey: "wrong" };
  const wrong = createS3Storage({ ...s3.options, credentials });
  await expect(wrong.put("x", bytes("x"))).rejects.toThrow("SignatureDoesNotMatch");
});

test("refuses invalid options", () => {
  const { options } = s3;
  expect(() => createS3Storage({ ...options, bucket: "" })).toThrow("bucket");
  expect(() => createS3Storage({ ...options, prefix: "no-slash" })).toThrow("prefix");
  expect(() => createS3Storage({ ...options, timeoutMs: 3_600_000 })).toThrow("timeoutMs");
});

test("signs nothing if the gateway must transfer the bytes", async () => {
  const gateway = createS3Storage({ ...s3.options, uploads: "gateway", downloads: "gateway" });
  const headers = { contentType: "", contentDisposition: "", cacheControl: "" };
  expect(await gateway.signUpload("x", { size: 1, sha256: sha256(bytes("x")) }, LIFE_MS)).toBeNull();
  expect(await gateway.signDownload("x", headers, LIFE_MS)).toBeNull();
});
