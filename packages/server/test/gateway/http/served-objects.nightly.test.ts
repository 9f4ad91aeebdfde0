/**
 * Tests files that clients exchange with S3 through the gateway: who gets a URL, for what, for how long, and that no
 * file becomes a page.
 */
import { createHash, randomBytes } from "node:crypto";

import { afterAll, beforeAll, expect, test } from "vitest";

import { createMemoryLog } from "../../../src/log/memory.ts";
import { createBlobUrls } from "../../../src/session/blobs/blob-url.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createS3Storage } from "@turnstream/s3";
import { createPostgresStore } from "../../../src/store/create-postgres-store.ts";
import { type S3Harness, s3Harness } from "../../store/s3-harness.ts";
import { openServer, type TestServer } from "../test-server.ts";

const PAGE = "<!doctype html><script>alert(1)</script>";
const LIMITS = { maxUploadBytes: 1_000_000, maxSessionUploadBytes: 1_500_000 };
let harness: S3Harness;
let server: TestServer;
/** Of another tenant. */
let other: TestServer;
/** On the same data, and clients exchange nothing with S3. */
let relaying: TestServer;
let session: string;

beforeAll(async () => {
  harness = await s3Harness();
  const parts = { log: createMemoryLog(), signals: createMemorySignals() };
  server = await openServer({ ...parts, store: harness.store }, { limits: LIMITS });
  other = await openServer({ ...parts, store: harness.store });
  const storage = createS3Storage({ ...harness.s3.options, uploads: "gateway", downloads: "gateway" });
  const store = createPostgresStore(harness.db, { storage });
  relaying = await openServer({ ...parts, store }, { actor: server.actor });
  session = (await server.request("POST", "/sessions", { body: {} })).json.session_id;
});
afterAll(async () => {
  for (const open of [server, other, relaying]) await open.close();
  await harness.store.close();
});

const sha256 = (body: string | Buffer) => createHash("sha256").update(body).digest("base64");
const bodyOf = (content: string | Buffer, name = "a.html", type = "text/html") => ({
  name,
  media_type: type,
  size: Buffer.byteLength(content),
  sha256: sha256(content),
});

interface Send {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
}

async function put({ url, method, headers }: Send, body: string | Buffer): Promise<number> {
  const response = await fetch(url, { method, headers, body: new Uint8Array(Buffer.from(body)) });
  await response.arrayBuffer();
  return response.status;
}

async function uploadDirectly(content: string, name?: string, type?: string): Promise<string> {
  const { json } = await server.request("POST", `/sessions/${session}/uploads`, {
    body: bodyOf(content, name, type),
  });
  expect(await put(json.send, content)).toBe(200);
  const done = await server.request("POST", `/sessions/${session}/uploads/${json.id}/complete`);
  expect(done.status).toBe(200);
  return json.id;
}

const download = (path: string, init: RequestInit = {}) =>
  fetch(`${server.url}/api/v1${path}`, { headers: { ...server.auth }, redirect: "manual", ...init });

test("a client uploads to S3, completes, and refers to the file", async () => {
  const id = await uploadDirectly(PAGE);
  const repeated = await server.request("POST", `/sessions/${session}/uploads/${id}/complete`);
  expect(repeated.json).toEqual({
    id,
    url: `turnstream:upload/${id}`,
    name: "a.html",
    media_type: "text/html",
    size: PAGE.length,
  });
  const served = await fetch(`${server.url}/api/v1/sessions/${session}/files/${id}`, {
    headers: { ...server.auth },
  });
  expect(new URL(served.url).origin).toBe(harness.s3.options.endpoint);
  expect(await served.text()).toBe(PAGE);
});

test.each([
  ["a.html", "text/html"],
  ["x.svg", "image/svg+xml"],
  ["a.js", "text/javascript"],
  ['a"; filename="b.exe', "application/xhtml+xml"],
  ["a\r\nset-cookie: x=1", "TEXT/HTML; charset=utf-7"],
  ["../../etc/passwd", "multipart/x-mixed-replace"],
])("S3 serves %j of the type %j as a download that no browser runs", async (name, type) => {
  const id = await uploadDirectly(`${PAGE}${name}`, name, type);
  const redirect = await download(`/sessions/${session}/files/${id}`);
  expect(redirect.status).toBe(302);
  expect(redirect.headers.get("cache-control")).toBe("no-store");
  expect(redirect.headers.get("referrer-policy")).toBe("no-referrer");
  const served = await fetch(redirect.headers.get("location") ?? "");
  expect(await served.text()).toBe(`${PAGE}${name}`);
  expect(served.headers.get("content-type")).toMatch(/^(application\/octet-stream|image\/svg\+xml)$/);
  expect(served.headers.get("content-disposition")).toMatch(
    /^attachment; filename="[\w.-]+"(; filename\*=\S+)?$/,
  );
  expect(served.headers.get("set-cookie")).toBeNull();
  for (const stored of harness.s3.objects.values()) expect(stored.type).toBe("application/octet-stream");
});

test("a HEAD is answered without S3, and a gateway can send the bytes itself", async () => {
  const id = await uploadDirectly(PAGE);
  const path = `/sessions/${session}/files/${id}`;
  const head = await download(path, { method: "HEAD" });
  expect([head.status, head.headers.get("content-length")]).toEqual([200, String(PAGE.length)]);
  const sent = await relaying.request("GET", path);
  expect([sent.status, sent.text]).toEqual([200, PAGE]);
  expect(sent.headers.get("content-security-policy")).toBe("default-src 'none'; sandbox");
  const started = await relaying.request("POST", `/sessions/${session}/uploads`, { body: bodyOf(PAGE) });
  expect(started.json).toMatchObject({ file: null, send: null });
});

test("a blob is redirected for as long as its URL allows, with its own type", async () => {
  const ref = { tenant: server.actor.tenant, session };
  const body = randomBytes(1_000);
  await harness.store.blobs.put(ref, { id: "img", mediaType: "image/png", body });
  const [secret] = server.secrets;
  const base = `${server.url}/api/v1/blobs/`;
  const url = createBlobUrls(ref, { base, secret, now: Date.now() })("img");
  const redirect = await fetch(url, { redirect: "manual" });
  expect(redirect.status).toBe(302);
  expect(redirect.headers.get("cache-control")).toBe("private, max-age=150");
  const location = redirect.headers.get("location") ?? "";
  expect(new URL(location).searchParams.get("X-Amz-Expires")).toBe("300");
  const served = await fetch(location);
  expect([served.headers.get("content-type"), served.headers.get("content-disposition")]).toEqual([
    "image/png",
    "inline",
  ]);
  expect(Buffer.from(await served.arrayBuffer()).equals(body)).toBe(true);
  // A token that expired or was changed gets no URL.
  const old = createBlobUrls(ref, { base, secret, now: Date.now() - 10 * 3_600_000 })("img");
  const foreign = createBlobUrls(
    { ...ref, tenant: other.actor.tenant },
    { base, secret, now: Date.now() },
  )("img");
  for (const bad of [old, `${url}x`, foreign])
    expect((await fetch(bad, { redirect: "manual" })).status).toBeGreaterThanOrEqual(400);
  // The gateway that sends the bytes answers a cached copy without reading them.
  const [relayed] = relaying.secrets;
  const direct = createBlobUrls(ref, {
    base: `${relaying.url}/api/v1/blobs/`,
    secret: relayed,
    now: Date.now(),
  })("img");
  const whole = await fetch(direct);
  expect(Buffer.from(await whole.arrayBuffer()).equals(body)).toBe(true);
  const reads = harness.s3.requests.length;
  const etag = whole.headers.get("etag") ?? "";
  expect((await fetch(direct, { headers: { "if-none-match": etag } })).status).toBe(304);
  expect(harness.s3.requests).toHaveLength(reads);
});

test("another tenant or session can't start, complete or read an upload", async () => {
  const { json } = await server.request("POST", `/sessions/${session}/uploads`, { body: bodyOf(PAGE) });
  await put(json.send, PAGE);
  const mine = (await server.request("POST", "/sessions", { body: {} })).json.session_id as string;
  const theirs = (await other.request("POST", "/sessions", { body: {} })).json.session_id as string;
  const status = async (from: TestServer, method: string, path: string) =>
    (await from.request(method, path, method === "POST" ? { body: bodyOf(PAGE) } : {})).status;
  expect(await status(other, "POST", `/sessions/${session}/uploads`)).toBe(404);
  for (const [from, of] of [
    [other, session],
    [other, theirs],
    [server, mine],
  ] as const) {
    const done = await from.request("POST", `/sessions/${of}/uploads/${json.id}/complete`);
    expect(done.status).toBe(404);
    expect(await status(from, "GET", `/sessions/${of}/files/${json.id}`)).toBe(404);
  }
  // Not complete, so it can't be read here either.
  expect(await status(server, "GET", `/sessions/${session}/files/${json.id}`)).toBe(404);
  for (const id of ["..%2f..", "%00", "a".repeat(300), "none"])
    expect(
      await status(server, "POST", `/sessions/${session}/uploads/${id}/complete`),
    ).toBeGreaterThanOrEqual(400);
});

test("limits apply to the declared size, and only the declared content is accepted", async () => {
  const fresh = (await server.request("POST", "/sessions", { body: {} })).json.session_id as string;
  const start = (body: object) => server.request("POST", `/sessions/${fresh}/uploads`, { body });
  expect((await start({ ...bodyOf("x"), size: 1_000_001 })).status).toBe(413);
  expect((await start({ ...bodyOf("x"), size: 1e300 })).status).toBe(400);
  for (const size of [-1, 1.5, "10"]) expect((await start({ ...bodyOf("x"), size })).status).toBe(400);
  for (const hash of ["", "x", `${"A".repeat(42)}B=`, sha256("x").slice(1)])
    expect((await start({ ...bodyOf("x"), sha256: hash })).status).toBeGreaterThanOrEqual(400);
  const large = Buffer.alloc(1_000_000, "x");
  const first = await start(bodyOf(large));
  expect(first.status).toBe(201);
  // The first one counts, although nothing was sent.
  expect((await start(bodyOf(Buffer.alloc(600_000)))).status).toBe(413);
  expect(await put(first.json.send, Buffer.alloc(1_000_000, "y"))).toBe(400);
  expect((await server.request("POST", `/sessions/${fresh}/uploads/${first.json.id}/complete`)).status).toBe(
    409,
  );
});

test("a repeated start with the same key continues the same file", async () => {
  const headers = { ...server.auth, "idempotency-key": "direct-1" };
  const start = (content: string) =>
    server.request("POST", `/sessions/${session}/uploads`, { body: bodyOf(content), headers });
  const [first, second] = [await start(PAGE), await start(PAGE)];
  expect(second.json.id).toBe(first.json.id);
  expect(second.json.send.url).not.toBe(first.json.send.url);
  await put(second.json.send, PAGE);
  await server.request("POST", `/sessions/${session}/uploads/${first.json.id}/complete`);
  expect((await start(PAGE)).json).toMatchObject({ file: { id: first.json.id }, send: null });
  expect((await start("other content")).status).toBe(409);
});

test("no error of S3 reaches a client", async () => {
  const id = await uploadDirectly(PAGE);
  harness.s3.failIf(() => true);
  const failed = await relaying.request("GET", `/sessions/${session}/files/${id}`).catch(() => null);
  expect(failed?.text ?? "").not.toContain("SlowDown");
  harness.s3.failIf(null);
});
