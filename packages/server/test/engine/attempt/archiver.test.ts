/**
 * Tests the archiver of an attempt: it runs one commit at a time, shares it between concurrent callers, and caches the
 * archived position.
 */
import { describe, expect, it } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { Archiver } from "../../../src/engine/attempt/archiver.ts";
import { RestartAttempt } from "../../../src/engine/attempt/outcomes.ts";
import { archiveSession } from "../../../src/session/archive/archive.ts";
import { readHistory } from "../../../src/session/history/read-history.ts";
import { createMemoryStore } from "@turnstream/testing";
import type { Store } from "../../../src/store/store.ts";
import { plain, SessionHarness } from "../../session/session-harness.ts";

/** A backend that counts how often the archive is read and how often a commit runs. */
async function counted() {
  const harness = await SessionHarness.make({ log: createMemoryLog(), store: createMemoryStore() });
  await harness.start();
  const { store, log } = harness.backend;
  const count = { reads: 0, commits: 0 };
  const watched: Store = {
    ...store,
    archive: {
      ...store.archive,
      window: (ref, turns) => {
        count.reads++;
        return store.archive.window(ref, turns);
      },
    },
    transaction: (work) => {
      count.commits++;
      return store.transaction(work);
    },
  };
  const archiver = new Archiver({ store: watched, log }, harness.ref);
  let messages = 0;
  const appendMessage = () =>
    harness.append({ type: "message.add", message: `m${++messages}`, text: "Hello." });
  const isWhole = async () => {
    await archiveSession(harness.backend, harness.ref);
    await log.remove(harness.ref);
    const { state } = await readHistory(harness.backend, harness.ref);
    expect(plain(state)).toEqual(plain(harness.folded()));
  };
  return { harness, archiver, count, appendMessage, isWhole };
}

const nothing = async (): Promise<void> => undefined;

describe("archiver of an attempt", () => {
  it("reads the archived position once and continues from there", async () => {
    const { archiver, count, appendMessage, isWhole } = await counted();
    for (let n = 0; n < 5; n++) {
      await appendMessage();
      await archiver.archive(nothing);
    }
    expect(count).toEqual({ reads: 1, commits: 5 });
    await isWhole();
  });

  it("reads it again when another process has archived meanwhile", async () => {
    const { harness, archiver, count, appendMessage, isWhole } = await counted();
    await appendMessage();
    await archiver.archive(nothing);
    await appendMessage();
    const other = await archiveSession(harness.backend, harness.ref);
    await appendMessage();
    await archiver.archive(nothing);
    expect(count.reads).toBe(2);
    const { archived } = await harness.backend.store.archive.header(harness.ref);
    expect(archived).toBe(harness.events.at(-1)?.id);
    expect(archived).not.toBe(other.cursor);
    await isWhole();
  });

  it("reads it again when the log was trimmed meanwhile", async () => {
    const { harness, archiver, appendMessage, isWhole } = await counted();
    await appendMessage();
    await archiver.archive(nothing);
    await appendMessage();
    const { cursor } = await archiveSession(harness.backend, harness.ref);
    await harness.backend.log.trim(harness.ref, cursor);
    await appendMessage();
    let isDone = false;
    await archiver.archive(async () => void (isDone = true));
    expect(isDone).toBe(true);
    await isWhole();
  });

  it("shares the next commit between requests that arrive during a commit", async () => {
    const { archiver, count, appendMessage } = await counted();
    const order: number[] = [];
    await appendMessage();
    const asked = [0, 1, 2, 3, 4].map((n) => archiver.archive(async () => void order.push(n)));
    await Promise.all(asked);
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect(count.commits).toBe(2);
  });

  it("rejects all callers of a failed commit and continues with the next", async () => {
    const { archiver, appendMessage, isWhole } = await counted();
    await appendMessage();
    const first = archiver.archive(nothing);
    const shared = [archiver.archive(nothing), archiver.archive(() => Promise.reject(new Error("no")))];
    await first;
    for (const one of shared) await expect(one).rejects.toThrow("no");
    await appendMessage();
    await archiver.archive(nothing);
    await isWhole();
  });

  it("starts again when the log is missing", async () => {
    const { harness, archiver, appendMessage } = await counted();
    await appendMessage();
    await archiver.archive(nothing);
    await harness.backend.log.remove(harness.ref);
    await expect(archiver.archive(nothing)).rejects.toBeInstanceOf(RestartAttempt);
  });
});
