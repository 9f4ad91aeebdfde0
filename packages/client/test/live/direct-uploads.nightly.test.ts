/** Tests uploads of a client to a server whose files are in S3. */
import { randomBytes } from "node:crypto";

import { afterAll, beforeAll, expect, test } from "vitest";

import { createMemoryLog } from "../../../server/src/log/memory.ts";
import { readUpload } from "../../../server/src/session/blobs/upload.ts";
import { createMemorySignals } from "../../../server/src/signals/memory.ts";
import { openServer, type TestServer } from "../../../server/test/gateway/test-server.ts";
import { type S3Harness, s3Harness } from "../../../server/test/store/s3-harness.ts";
import { createClient } from "../../src/client.ts";
import type { Client } from "../../src/client-interface.ts";

let harness: S3Harness;
let server: TestServer;
let client: Client;
/** The requests of the client to the gateway. */
const sent: string[] = [];

const request: typeof fetch = (url, init) => {
  sent.push(`${init?.method ?? "GET"} ${new URL(url as string).pathname.split("/").slice(5).join("/")}`);
  return fetch(url, init);
};

beforeAll(async () => {
  harness = await s3Harness();
  server = await openServer({ log: createMemoryLog(), signals: createMemorySignals(), store: harness.store });
  const { auth: headers } = server;
  client = createClient({ url: server.url, auth: () => ({ headers }), env: { fetch: request } });
});
afterAll(async () => {
  client.close();
  await server.close();
  await harness.store.close();
});

async function upload(size: number) {
  const { id } = await client.createSession();
  sent.length = 0;
  const body = randomBytes(size);
  const progress: number[] = [];
  const file = await client.session(id).uploadFile(new Blob([body], { type: "text/html" }), {
    name: "page.html",
    onProgress: (done, all) => progress.push(done, all),
  });
  expect(file).toMatchObject({ name: "page.html", media_type: "text/html", size });
  expect(progress).toEqual([size, size]);
  const stored = await readUpload(
    { store: harness.store },
    { tenant: server.actor.tenant, session: id },
    file.id,
  );
  const parts: Uint8Array[] = [];
  for await (const part of stored?.body ?? []) parts.push(part);
  expect(Buffer.concat(parts).equals(body)).toBe(true);
  return file;
}

test("a large file is sent to S3, and the gateway sees none of its bytes", async () => {
  const { id } = await upload(3_000_000);
  expect(sent).toEqual(["POST uploads", `POST uploads/${id}/complete`]);
  expect(harness.s3.requests.filter(({ method }) => method === "PUT")).toHaveLength(1);
});

test("a small file takes one request", async () => {
  await upload(1_000);
  expect(sent).toEqual(["POST files"]);
});

test("a failure of S3 rejects, and a repeat succeeds", async () => {
  harness.s3.failIf(({ method }) => method === "PUT");
  await expect(upload(400_000)).rejects.toMatchObject({ canRetry: true });
  harness.s3.failIf(null);
  await upload(400_000);
});

test("a cancelled upload is ABORTED", async () => {
  const { id } = await client.createSession();
  const abort = new AbortController();
  const release = harness.s3.hold();
  const file = new Blob([randomBytes(400_000)]);
  const pending = client.session(id).uploadFile(file, { name: "a", signal: abort.signal });
  // Checked below.
  pending.catch(() => undefined);
  await expect.poll(() => harness.s3.requests.at(-1)?.method).toBe("PUT");
  abort.abort();
  await expect(pending).rejects.toMatchObject({ code: "ABORTED" });
  release();
});
