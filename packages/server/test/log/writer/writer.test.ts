/**
 * Tests the writer on the memory log: how it merges deltas, when it sends, how it applies backpressure, and how it
 * ends.
 */
import { legalLog } from "@turnstream/conformance/generator/legal-log.ts";
import { emptyState, type SessionEvent, fold, foldAll, type SessionState } from "@turnstream/protocol";
import { type EventDraft, checkEvent } from "@turnstream/protocol/writer";
import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import type { EngineAppend } from "../../../src/log/engine.ts";
import { LogError } from "../../../src/log/errors.ts";
import type { Log } from "../../../src/log/log.ts";
import { MemoryEngine } from "../../../src/log/memory.ts";
import type { LogBlob } from "../../../src/log/writer/oversize.ts";
import { createStreamLog } from "../../../src/log/stream-log.ts";
import { Writer, type WriterOptions } from "../../../src/log/writer/writer.ts";
import { readAll, sessionStart, takeover, sessionRef } from "../drafts.ts";

const SESSION = sessionRef("s");

class Desk {
  readonly engine: MemoryEngine;
  readonly log: Log;
  readonly blobs = new Map<string, LogBlob>();
  readonly #pens: Partial<WriterOptions>;

  constructor(engine = new MemoryEngine(), pens: Partial<WriterOptions> = {}) {
    this.engine = engine;
    this.log = createStreamLog(engine);
    this.#pens = pens;
  }

  async writer(): Promise<Writer> {
    await this.log.claim(SESSION, {
      epoch: 1,
      writer: "w",
      event: sessionStart(SESSION),
      archivedUpTo: "0-0",
    });
    let ids = 0;
    return new Writer({
      log: this.log,
      ref: SESSION,
      writer: "w",
      epoch: 1,
      newBlobId: () => `blob_${++ids}`,
      blobs: { put: async (_, blob) => void this.blobs.set(blob.id, blob) },
      ...this.#pens,
    });
  }

  async events(): Promise<SessionEvent[]> {
    return (await readAll(this.log, SESSION)).map((entry) => entry.event);
  }
}

const block = { turn: "t", run: "r", block: "b", index: 0 };
const delta = (text: string, of: object = {}): EventDraft => ({ type: "text.delta", ...block, ...of, text });
const cited = (n: number) => delta("[^1]", { annotations: [{ reference: 1, start: n * 4, end: n * 4 + 4 }] });

afterEach(() => void vi.useRealTimers());

/** The content of a state, without positions and times. */
function content(state: SessionState): unknown {
  const positions = new Set([
    "seq",
    "epoch",
    "start",
    "changed",
    "at",
    "started_at",
    "ended_at",
    "decided_at",
    "parsed",
  ]);
  return JSON.parse(
    JSON.stringify(state, (key, value: unknown) => {
      if (positions.has(key)) return undefined;
      return key === "end" ? value !== null : value;
    }),
  );
}

test("merged events are legal and fold to the same state as the events that were written", async () => {
  await fc.assert(
    fc.asyncProperty(legalLog(120), fc.array(fc.nat(5), { minLength: 1 }), async (log, pauses) => {
      const end = log.findIndex((event) => event.type === "turn.takeover");
      const events = end < 0 ? log : log.slice(0, end);
      const desk = new Desk(new MemoryEngine(), { batchDelayMs: 1, maxBatchSize: 300 });
      const writer = await desk.writer();
      for (const [n, { v: _v, id: _id, at: _at, first: _first, ...draft }] of events.slice(1).entries()) {
        await writer.write(draft);
        if (pauses[n % pauses.length] === 5) await new Promise(setImmediate);
      }
      await writer.flush();
      const written = await desk.events();
      let state = fold(emptyState, written[0] as SessionEvent);
      for (const event of written.slice(1)) {
        expect(checkEvent(state, event)).toBeNull();
        state = fold(state, event);
      }
      const [first, ...rest] = events;
      const meant = foldAll([{ ...first, session: "s", number: 1 } as SessionEvent, ...rest]);
      expect(content(state)).toEqual(content(meant));
    }),
    { numRuns: 300 },
  );
});

test("sends the first delta immediately and merges later deltas per block for a few milliseconds", async () => {
  vi.useFakeTimers();
  // Start long after any earlier send, so that the first delta is sent immediately.
  await vi.advanceTimersByTimeAsync(1_000);
  const desk = new Desk();
  const writer = await desk.writer();
  await writer.write(delta("a"));
  await vi.advanceTimersByTimeAsync(5);
  expect(await desk.events()).toHaveLength(2);
  for (let n = 0; n < 50; n++) {
    await writer.write(delta("b"));
    await writer.write(delta("c", { block: "other" }));
  }
  await vi.advanceTimersByTimeAsync(5);
  expect(await desk.events()).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(60);
  expect((await desk.events()).slice(2).map((event) => "text" in event && event.text)).toEqual([
    "b".repeat(50),
    "c".repeat(50),
  ]);
});

test("a steady stream of deltas is appended at most 20 times per second by default", async () => {
  vi.useFakeTimers();
  await vi.advanceTimersByTimeAsync(1_000);
  const desk = new Desk();
  const writer = await desk.writer();
  const before = (await desk.events()).length;
  for (let n = 0; n < 200; n++) {
    await writer.write(delta("x"));
    await vi.advanceTimersByTimeAsync(10);
  }
  await writer.flush();
  const appended = (await desk.events()).length - before;
  expect(appended).toBeLessThanOrEqual(42);
  expect(appended).toBeGreaterThanOrEqual(35);
});

test("sends other events immediately after the buffered deltas, and keeps the order", async () => {
  const desk = new Desk(new MemoryEngine(), { batchDelayMs: 10_000 });
  const writer = await desk.writer();
  for (const text of ["a", "b", "c"]) await writer.write(delta(text));
  await writer.write({ type: "text.end", ...block, final: true });
  await writer.write(delta("late", { block: "b2" }));
  await writer.write(delta("x", { block: "b" }));
  expect(await writer.flush()).toEqual({ epoch: 1, seq: (await desk.events()).length });
  const written = (await desk.events()).slice(1).map((event) => ("text" in event ? event.text : event.type));
  expect(written.join("")).toBe("abctext.endlatex");
});

test("applies backpressure to a fast caller, so that memory stays bounded", async () => {
  const slow = new (class extends MemoryEngine {
    override async append(session: string, append: EngineAppend) {
      await new Promise((resolve) => setImmediate(resolve));
      return super.append(session, append);
    }
  })();
  const desk = new Desk(slow, { highWaterMark: 20_000, maxBatchSize: 1_000 });
  const writer = await desk.writer();
  let most = 0;
  for (let n = 0; n < 2_000; n++) {
    await writer.write(delta("x".repeat(90), { block: `b${n}` }));
    most = Math.max(most, writer.waiting);
  }
  await writer.flush();
  expect(most).toBeGreaterThan(5_000);
  expect(most).toBeLessThan(21_000);
  expect(await desk.events()).toHaveLength(2_001);
});

test("retries an append with an unknown outcome, and it happens once", async () => {
  let calls = 0;
  const unsure = new (class extends MemoryEngine {
    override async append(session: string, append: EngineAppend) {
      calls++;
      if (calls % 3 === 1) throw new LogError("UNAVAILABLE");
      const outcome = await super.append(session, append);
      if (calls % 3 === 2) throw new LogError("UNAVAILABLE");
      return outcome;
    }
  })();
  const desk = new Desk(unsure, { retryMs: 1 });
  const writer = await desk.writer();
  for (let n = 0; n < 20; n++) {
    await writer.write({ type: "session.update", title: `${n}` });
    await writer.flush();
  }
  const titles = (await desk.events())
    .slice(1)
    .map((event) => event.type === "session.update" && event.title);
  expect(titles).toEqual(Array.from({ length: 20 }, (_, n) => `${n}`));
  expect(calls).toBe(60);
});

test("ends at the first refusal", async () => {
  const desk = new Desk();
  const writer = await desk.writer();
  await writer.write(delta("a"));
  await writer.flush();
  await desk.log.claim(SESSION, { epoch: 2, writer: "w2", event: takeover(), archivedUpTo: "0-0" });
  await writer.write({ type: "session.update", title: "late" });
  await expect(writer.flush()).rejects.toMatchObject({ code: "FENCED", epoch: 2 });
  await expect(writer.write(delta("b"))).rejects.toMatchObject({ code: "FENCED" });
  expect((await desk.events()).map(({ id }) => id)).toEqual(["1-1", "1-2", "2-3"]);
  const impatient = new Desk(
    new (class extends MemoryEngine {
      override async append(): Promise<never> {
        throw new LogError("UNAVAILABLE");
      }
    })(),
    { retryTimeoutMs: 20, retryMs: 1 },
  );
  const other = await impatient.writer();
  await other.write(delta("a"));
  await expect(other.flush()).rejects.toMatchObject({ code: "UNAVAILABLE" });
});

test("stores oversized content in a blob before its event, or splits it into several events", async () => {
  const engine = new (class extends MemoryEngine {
    override async append(session: string, append: EngineAppend) {
      for (const [, id] of append.lines.join().matchAll(/"blob":"(\w+)"/g))
        expect([...desk.blobs.keys()]).toContain(id);
      return super.append(session, append);
    }
  })();
  const desk = new Desk(engine);
  const writer = await desk.writer();
  const long = "𝄞 ünïcode \u0000\u0001".repeat(20_000);
  const records = Array.from({ length: 5_000 }, (_, n) => ({ n, name: `record ${n}` }));
  await writer.write({ type: "message.add", message: "m1", text: long });
  await writer.write(delta(long, { annotations: [{ reference: 1, start: 3, end: long.length }] }));
  await writer.write({ type: "tool_call.end", ...block, input: { records } });
  await writer.write({
    type: "tool_result.end",
    ...block,
    status: "success",
    preview: "5,000 records",
    artifact: { type: "table", data: records },
  });
  await writer.flush();
  const events = await desk.events();
  for (const event of events) expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(65_536);

  const [message] = events.filter((event) => event.type === "message.add");
  expect(message?.text.length).toBeGreaterThan(4_000);
  expect(long.startsWith(message?.text ?? "?")).toBe(true);
  const stored = desk.blobs.get(message?.whole?.blob ?? "");
  expect(Buffer.from(stored?.body ?? []).toString()).toBe(long);
  expect(message?.whole).toEqual({
    blob: stored?.id,
    size: Buffer.byteLength(long),
    media_type: "text/plain",
  });

  const deltas = events.filter((event) => event.type === "text.delta");
  expect(deltas.map(({ text }) => text).join("")).toBe(long);
  for (const { text } of deltas) expect(Buffer.from(text).toString()).toBe(text);
  expect(deltas.map(({ annotations }) => annotations?.length ?? 0)).toEqual([
    ...deltas.slice(1).map(() => 0),
    1,
  ]);

  const [call] = events.filter((event) => event.type === "tool_call.end");
  expect(JSON.parse(Buffer.from(desk.blobs.get(call?.whole?.blob ?? "")?.body ?? []).toString())).toEqual({
    records,
  });
  const [result] = events.filter((event) => event.type === "tool_result.end");
  expect(result?.artifact?.whole?.size).toBe(Buffer.byteLength(JSON.stringify(records)));
  expect(result?.artifact?.data).toBe(JSON.stringify(records).slice(0, 4096));

  const schema = { id: "f", title: "t", description: "x".repeat(70_000), fields: [] };
  await expect(writer.write({ type: "form.request", ...block, form: "f1", schema })).rejects.toMatchObject({
    code: "TOO_LARGE",
  });
});

test("splits very long deltas and many citations into parts that fit into the log", async () => {
  const stalled = new (class extends MemoryEngine {
    override async append(session: string, append: EngineAppend) {
      await new Promise((resolve) => setImmediate(resolve));
      return super.append(session, append);
    }
  })();
  const desk = new Desk(stalled);
  const writer = await desk.writer();
  const part = { part: 0, media: "text", done: true } as const;
  await writer.write({ type: "tool_result.delta", ...block, ...part, data: "x".repeat(5_000_000) });
  for (let n = 0; n < 2_000; n++) await writer.write(cited(n));
  await writer.flush();
  const events = await desk.events();
  const results = events.flatMap((event) => (event.type === "tool_result.delta" ? [event] : []));
  expect(results.map(({ data }) => data).join("")).toHaveLength(5_000_000);
  expect(results.map(({ done }) => done)).toEqual([...results.slice(1).map(() => false), true]);
  const notes = events.flatMap((event) => (event.type === "text.delta" ? (event.annotations ?? []) : []));
  expect(notes.map(({ start }) => start)).toEqual(Array.from({ length: 2_000 }, (_, n) => n * 4));
});

test("flush waits for earlier writes, not for concurrent ones", async () => {
  const desk = new Desk();
  const writer = await desk.writer();
  const busy = { is: true };
  const others = (async () => {
    while (busy.is) {
      await writer.write(delta("x"));
      await new Promise(setImmediate);
    }
  })();
  for (let n = 0; n < 20; n++) {
    await writer.write({ type: "session.update", title: `${n}` });
    await writer.flush();
    const titles = (await desk.events()).flatMap((event) =>
      event.type === "session.update" ? [event.title] : [],
    );
    expect(titles.at(-1)).toBe(`${n}`);
  }
  busy.is = false;
  await others;
});
