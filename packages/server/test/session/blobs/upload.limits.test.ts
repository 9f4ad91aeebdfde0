/** Tests uploads on a real PostgreSQL: a large upload uses bounded memory, and an interrupted one can be repeated. */
import { createHash } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { afterAll, beforeAll, expect, test } from "vitest";

import { readUpload, uploadFile, uploadIdOf } from "../../../src/session/blobs/upload.ts";
import { newSession } from "../../store/harness.ts";
import { type PostgresHarness, postgresHarness } from "../../store/postgres-harness.ts";

let harness: PostgresHarness;

beforeAll(async () => {
  harness = await postgresHarness();
});
afterAll(() => harness.store.close());

const PART = 64_000;

/** Incompressible bytes, in chunks of the size that a network delivers. */
async function* body(size: number, digest = createHash("sha256")): AsyncIterable<Uint8Array> {
  let state = 1;
  for (let left = size; left > 0; left -= PART) {
    const part = new Uint8Array(Math.min(PART, left));
    for (let n = 0; n < part.length; n++)
      part[n] = (state = (state * 1_103_515_245 + 12_345) & 0x7fffffff) >> 16;
    digest.update(part);
    yield part;
  }
}

const uploadOf = (id: string, size: number) => ({ id, name: id, userId: null, body: body(size) });

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function taken(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Returns the peak memory during `work`, above the level before it. Unreferenced memory doesn't count. */
async function peakOf(work: () => Promise<void>): Promise<number> {
  const before = taken();
  let peak = 0;
  const timer = setInterval(() => {
    // A separate thread frees buffers. A second collection waits for it, so it decides about a new peak.
    if (taken() - before > peak) peak = Math.max(peak, taken() - before);
  }, 500);
  await work();
  clearInterval(timer);
  return peak;
}

test("stores and reads 100 MB without holding all of it in memory", { timeout: 180_000 }, async () => {
  const { ref } = await newSession(harness.store);
  const size = 100_000_000;
  const [sent, got] = [createHash("sha256"), createHash("sha256")];
  const up = await peakOf(async () => {
    const big = { id: "big", name: "big.bin", body: body(size, sent), userId: "an" };
    expect(await uploadFile(harness, ref, big)).toMatchObject({ url: "turnstream:upload/big", size });
  });
  let read = 0;
  const down = await peakOf(async () => {
    for await (const chunk of (await readUpload(harness, ref, "big"))?.body ?? []) {
      got.update(chunk);
      read += chunk.byteLength;
    }
  });
  expect(read).toBe(size);
  expect(got.digest("hex")).toBe(sent.digest("hex"));
  console.info(
    `100 MB: ${Math.round(up / 1e6)} MB of memory going in, ${Math.round(down / 1e6)} MB going out`,
  );
  // In one piece it would be 100 MB, and three times that in the driver, which reads bytes as text.
  expect(up).toBeLessThan(90_000_000);
  expect(down).toBeLessThan(90_000_000);
});

async function* broken(): AsyncIterable<Uint8Array> {
  yield new Uint8Array(2_000_000);
  throw new Error("connection lost");
}

test("an interrupted upload leaves nothing to read, and can be repeated under the same id", async () => {
  const { ref } = await newSession(harness.store);
  const again = { id: "u", name: "a.txt", mediaType: "text/plain", userId: null };
  await expect(uploadFile(harness, ref, { ...again, body: broken() })).rejects.toThrow("connection lost");
  expect(await readUpload(harness, ref, "u")).toBeNull();
  const done = await uploadFile(harness, ref, { ...again, body: body(10) });
  expect(done.size).toBe(10);
  // A repeated call with the same bytes returns the same result.
  expect(await uploadFile(harness, ref, { ...again, body: body(10) })).toEqual(done);
  for (const other of [
    { body: body(9) },
    { body: body(11) },
    { body: broken() },
    { body: body(10), name: "b.txt" },
  ])
    await expect(uploadFile(harness, ref, { ...again, ...other })).rejects.toMatchObject({
      code: "CONFLICT",
    });
});

test("refuses and drops an upload that exceeds a limit", async () => {
  const { ref } = await newSession(harness.store);
  const limits = { bytes: 3_000_000, sessionBytes: 4_000_000 };
  await expect(uploadFile(harness, ref, uploadOf("a", 3_000_001), limits)).rejects.toMatchObject({
    code: "TOO_LARGE",
  });
  expect(await harness.store.uploads.get(ref, "a")).toBeNull();
  await uploadFile(harness, ref, uploadOf("b", 3_000_000), limits);
  await expect(uploadFile(harness, ref, uploadOf("c", 1_000_001), limits)).rejects.toMatchObject({
    code: "TOO_LARGE",
  });
  expect((await uploadFile(harness, ref, uploadOf("d", 1_000_000), limits)).size).toBe(1_000_000);
  expect((await uploadFile(harness, ref, uploadOf("e", 0), limits)).size).toBe(0);
});

test("an address identifies one upload, whatever characters its id contains", () => {
  expect(uploadIdOf("turnstream:upload/a%2Fb")).toBe("a/b");
  for (const url of [
    "https://example.com/",
    "turnstream:upload/",
    "turnstream:upload/%zz",
    "turnstream:other/a",
  ])
    expect(uploadIdOf(url)).toBeNull();
});
