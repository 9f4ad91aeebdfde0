/** The archiver of an attempt: one commit at a time, shared by those who ask meanwhile, without reading what it knows. */
import { describe, expect, it } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { Archiver } from "../../../src/runtime/attempt/archiver.ts";
import { RestartAttempt } from "../../../src/runtime/attempt/outcomes.ts";
import { archiveSession } from "../../../src/session/archive/archive.ts";
import { readHistory } from "../../../src/session/history/read-history.ts";
import { createMemoryStore } from "../../../src/store/memory/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { plain, World } from "../../session/session-harness.ts";

/** A world in which it is counted how often what is archived is read, and how often something is committed. */
async function counted() {
  const world = await World.make({ log: createMemoryLog(), store: createMemoryStore() });
  await world.start();
  const { store, log } = world.parts;
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
  const archiver = new Archiver({ store: watched, log }, world.ref);
  let messages = 0;
  const say = () => world.append({ type: "message.add", message: `m${++messages}`, text: "Hello." });
  const isWhole = async () => {
    await archiveSession(world.parts, world.ref);
    await log.remove(world.ref.session);
    const { state } = await readHistory(world.parts, world.ref);
    expect(plain(state)).toEqual(plain(world.folded()));
  };
  return { world, archiver, count, say, isWhole };
}

const nothing = async (): Promise<void> => undefined;

describe("the archiver of an attempt", () => {
  it("reads what is archived once, and goes on from there", async () => {
    const { archiver, count, say, isWhole } = await counted();
    for (let n = 0; n < 5; n++) {
      await say();
      await archiver.archive(nothing);
    }
    expect(count).toEqual({ reads: 1, commits: 5 });
    await isWhole();
  });

  it("reads it again when somebody else has archived meanwhile", async () => {
    const { world, archiver, count, say, isWhole } = await counted();
    await say();
    await archiver.archive(nothing);
    await say();
    const other = await archiveSession(world.parts, world.ref);
    await say();
    await archiver.archive(nothing);
    expect(count.reads).toBe(2);
    const { archived } = await world.parts.store.archive.header(world.ref);
    expect(archived).toBe(world.events.at(-1)?.id);
    expect(archived).not.toBe(other.cursor);
    await isWhole();
  });

  it("reads it again when the log was trimmed behind its back", async () => {
    const { world, archiver, say, isWhole } = await counted();
    await say();
    await archiver.archive(nothing);
    await say();
    const { cursor } = await archiveSession(world.parts, world.ref);
    await world.parts.log.trim(world.ref.session, cursor);
    await say();
    let isDone = false;
    await archiver.archive(async () => void (isDone = true));
    expect(isDone).toBe(true);
    await isWhole();
  });

  it("commits together what is asked for while a commit is under way", async () => {
    const { archiver, count, say } = await counted();
    const order: number[] = [];
    await say();
    const asked = [0, 1, 2, 3, 4].map((n) => archiver.archive(async () => void order.push(n)));
    await Promise.all(asked);
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect(count.commits).toBe(2);
  });

  it("fails for all who share a commit, and goes on with the next", async () => {
    const { archiver, say, isWhole } = await counted();
    await say();
    const first = archiver.archive(nothing);
    const shared = [archiver.archive(nothing), archiver.archive(() => Promise.reject(new Error("no")))];
    await first;
    for (const one of shared) await expect(one).rejects.toThrow("no");
    await say();
    await archiver.archive(nothing);
    await isWhole();
  });

  it("begins again when the log is gone", async () => {
    const { world, archiver, say } = await counted();
    await say();
    await archiver.archive(nothing);
    await world.parts.log.remove(world.ref.session);
    await expect(archiver.archive(nothing)).rejects.toBeInstanceOf(RestartAttempt);
  });
});
