/**
 * The seam between replay and live, under every order that the scheduler can think of: viewers come at any cursor, are slow,
 * drain and leave, while the log is written, claimed, archived and trimmed, loses its newest entries or all of them. Every
 * viewer gets exactly the log after where it began, or is told that it begins anew.
 */
import {
  emptyState,
  type Event,
  fold,
  restore,
  type SessionState,
  type Snapshot,
} from "@turnstream/protocol";
import fc, { type Scheduler } from "fast-check";
import { expect, test } from "vitest";
import type { Choice } from "../../src/gateway/choice.ts";
import { Feed } from "../../src/gateway/feed.ts";
import { isLogError } from "../../src/log/errors.ts";
import { createStreamLog } from "../../src/log/stream-log.ts";
import { archiveSession, trimSession } from "../../src/session/archive.ts";
import { isStoreError } from "../../src/store/errors.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import { takeover, titles } from "../log/drafts.ts";
import { ScheduledEngine } from "../log/scheduled-engine.ts";
import { World } from "../session/world.ts";
import { choice, type Frame, TestViewer } from "./test-viewer.ts";

const RUNS = Number(process.env["TURNSTREAM_INTERLEAVINGS"] ?? 10_000);
/** 100,000 of them end within half an hour. */
const LONG_MS = Math.max(600_000, RUNS * 18);
const SEED = Number(process.env["TURNSTREAM_SEED"] ?? 20_261_115);

type Command =
  | { readonly do: "append"; readonly events: number }
  | { readonly do: "claim" | "archive" | "reconnect" | "wipe" | "clog" | "unclog" | "leave" }
  | { readonly do: "fail over"; readonly lose: number }
  | { readonly do: "view"; readonly dialect: "native" | "blocks"; readonly back: number | null };

const append = fc.record({ do: fc.constant("append" as const), events: fc.integer({ min: 1, max: 4 }) });
const view = fc.record({
  do: fc.constant("view" as const),
  dialect: fc.constantFrom("native" as const, "blocks" as const),
  back: fc.option(fc.nat(6), { freq: 3 }),
});
const plain = (...names: Exclude<Command["do"], "append" | "view" | "fail over">[]) =>
  names.map((name) => fc.constant<Command>({ do: name }));
const calm = [append, append, append, view, view, ...plain("claim", "clog", "clog", "unclog", "archive")];
const rough = [
  ...calm,
  ...plain("wipe", "reconnect", "leave"),
  fc.record({ do: fc.constant("fail over" as const), lose: fc.integer({ min: 0, max: 3 }) }),
];

function ofMood(mood: "calm" | "rough", commands: fc.Arbitrary<Command>[]) {
  const step = fc.record({ command: fc.oneof(...commands), steps: fc.oneof(fc.nat(2), fc.nat(20)) });
  return fc.record({ mood: fc.constant(mood), commands: fc.array(step, { minLength: 3, maxLength: 12 }) });
}

const seen = { viewers: 0, frames: 0, slow: 0, anew: 0, resumed: 0 };

/** A viewer, and what it has to have seen. */
interface Watched {
  readonly viewer: TestViewer;
  readonly choice: Choice;
  readonly after: string | null;
  left: boolean;
}

class Play {
  readonly engine: ScheduledEngine;
  readonly world: World;
  readonly feed: Feed;
  readonly watched: Watched[] = [];
  /** Every event that ever got a position. */
  readonly written = new Map<string, Event>();
  #count = 0;

  private constructor(engine: ScheduledEngine, world: World, scheduler: Scheduler) {
    this.engine = engine;
    this.world = world;
    const wait = async (): Promise<void> => void (await scheduler.schedule(Promise.resolve("slice")));
    this.feed = new Feed(world.ref, {
      ...world.parts,
      limits: { turns: 20 },
      addressesOf: () => (blob) => blob,
      slices: { run: async (piece) => wait().then(piece) },
      pause: wait,
      onError: (error) => {
        throw error;
      },
    });
  }

  static async make(scheduler: Scheduler): Promise<Play> {
    const engine = new ScheduledEngine(scheduler);
    const log = createStreamLog(engine, { now: () => 1, pageSize: 3, maxQueued: 600 });
    const world = await World.make({ log, store: memoryStore() });
    await engine.watch(world.ref.session);
    await engine.inner.subscribe(world.ref.session, () => undefined);
    const starting = world.start();
    await idle(scheduler);
    await starting;
    return new Play(engine, world, scheduler);
  }

  async run(command: Command): Promise<void> {
    const { world, engine } = this;
    const last = this.watched.at(-1);
    switch (command.do) {
      case "append":
        return this.#try(() =>
          world.append(...titles(...Array.from({ length: command.events }, () => `title ${this.#count++}`))),
        );
      case "claim":
        return this.#try(() => world.claim(takeover()));
      case "archive":
        return this.#try(async () => {
          await archiveSession(world.parts, world.ref);
          await trimSession(world.parts, world.ref);
        });
      case "view": {
        const { dialect, back } = command;
        const after = back === null ? null : (world.events.at(-1 - back)?.id ?? "0-0");
        const viewer = new TestViewer(choice(dialect), { maxQueued: 150 });
        const of = choice(dialect);
        viewer.subscription = this.feed.subscribe({ choice: of, after }, viewer);
        this.watched.push({ viewer, choice: of, after, left: false });
        return;
      }
      case "clog":
        return last?.viewer.clog();
      case "unclog":
        return last?.viewer.unclog();
      case "leave":
        if (last === undefined) return;
        last.left = true;
        return last.viewer.close();
      case "reconnect":
        return engine.reconnect();
      case "fail over":
        engine.inner.failOver({ [world.ref.session]: command.lose });
        return engine.reconnect();
      case "wipe":
        engine.inner.wipe();
    }
  }

  /** What a log refuses after a loss is for its writer to mend, with the next claim. */
  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isLogError(error) && !isStoreError(error)) throw error;
    }
  }

  async check(): Promise<void> {
    const entries = await this.engine.inner.range(this.world.ref.session, { epoch: 0, seq: 0 }, 1_000);
    for (const entry of entries?.entries ?? []) this.written.set(entry.cursor, entry.event);
    const archive = this.world.parts.store.archive;
    for (const event of await archive.events(this.world.ref, { after: 0, limit: 1_000 }))
      this.written.set(event.id, event);
    const state = await this.#now();
    for (const one of this.watched) {
      seen.viewers++;
      const title = follow(one, this.engine.before, this.written);
      if (!one.left && title !== state.title)
        throw new Error(`${one.choice.dialect} shows ${title}, the session is at ${state.title}`);
    }
  }

  /** The archive, and what the log has after it. */
  async #now(): Promise<SessionState> {
    const { store } = this.world.parts;
    let state: SessionState = emptyState;
    for (const event of await store.archive.events(this.world.ref, { after: 0, limit: 1_000 }))
      state = fold(state, event);
    const range = await this.engine.inner.range(this.world.ref.session, state, 1_000);
    for (const entry of range?.entries ?? []) state = fold(state, entry.event);
    return state;
  }
}

/** Goes through what a viewer got, frame by frame. @returns the title that it shows */
function follow(
  { viewer, after }: Watched,
  before: ReadonlyMap<string, string>,
  written: ReadonlyMap<string, Event>,
): string | null {
  let at: string | null = null;
  let title: string | null = null;
  viewer.frames.forEach((frame: Frame, n) => {
    seen.frames++;
    const told = viewer.beginnings.findLast((one) => one.after <= n);
    if (told === undefined) throw new Error("a frame before a word about how it begins");
    const isFirst = told.after === n;
    if (isFirst && told.reason === "slow") seen.slow++;
    if (isFirst && !told.resumed && told.reason === "expired") seen.anew++;
    if (isFirst && told.reason === "cursor") seen.resumed++;
    const cursor = (frame["event_id"] ?? (frame["v"] === undefined ? undefined : frame["id"])) as
      | string
      | undefined;
    if (frame["type"] === "snapshot") {
      if (told.resumed || !isFirst) throw new Error("a snapshot that nobody was told of");
      at = cursor ?? null;
      title = restore(frame["snapshot"] as Snapshot).title;
      return;
    }
    if (frame["type"] === "session_title" || frame["type"] === "session.update")
      title = frame["title"] as string;
    if (cursor === undefined) return;
    // A resync brings it to where the session is; everything else comes right after what it has.
    const jumps = isFirst && (told.reason === "slow" || !told.resumed);
    if (isFirst && !jumps && told.reason === "cursor") at = after;
    if (!jumps && !joins(at, cursor, before, written, frame)) throw new Error(`${cursor} after ${at}`);
    at = cursor;
  });
  return title ?? (after === null ? null : titleAt(after, before, written));
}

/** Whether nothing that the dialect tells lies between. */
function joins(
  at: string | null,
  cursor: string,
  before: ReadonlyMap<string, string>,
  written: ReadonlyMap<string, Event>,
  frame: Frame,
): boolean {
  const isNative = frame["v"] !== undefined;
  for (let from = before.get(cursor); ; from = before.get(from)) {
    if (from === undefined || at === null) return from === undefined && at === null;
    if (from === at) return true;
    if (isNative || written.get(from)?.type === "session.update") return false;
  }
}

function titleAt(
  cursor: string,
  before: ReadonlyMap<string, string>,
  written: ReadonlyMap<string, Event>,
): string | null {
  for (let from: string | undefined = cursor; from !== undefined; from = before.get(from)) {
    const event = written.get(from);
    if (event?.type === "session.update") return event.title;
  }
  return null;
}

/** Everything that is under way, to its end. */
async function idle(scheduler: Scheduler): Promise<void> {
  for (let steps = 0; ; steps++) {
    // What follows from the last step may take a while to show.
    for (let n = 0; n < 40 && scheduler.count() === 0; n++) await Promise.resolve();
    if (scheduler.count() === 0) await new Promise((resolve) => setImmediate(resolve));
    if (scheduler.count() === 0) return;
    if (steps > 5_000) throw new Error("it never comes to rest");
    await scheduler.waitOne();
  }
}

test(
  `${RUNS} interleavings: every viewer gets exactly the log, or is told that it begins anew`,
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.oneof(ofMood("calm", calm), ofMood("rough", rough)),
        async (scheduler, { commands, mood }) => {
          const play = await Play.make(scheduler);
          const running: Promise<void>[] = [];
          for (const { command, steps } of commands) {
            running.push(play.run(command));
            for (let n = 0; n < steps && scheduler.count() > 0; n++) await scheduler.waitOne();
          }
          await idle(scheduler);
          await Promise.all(running);
          for (const { viewer } of play.watched) viewer.unclog();
          await idle(scheduler);
          // Nobody waits for something that has come already.
          if (mood === "calm") await play.check();
          // Somebody mends what was lost.
          const ending = play.run({ do: "claim" });
          await idle(scheduler);
          await ending;
          const last = play.run({ do: "append", events: 1 });
          await idle(scheduler);
          await last;
          await play.check();
          const isWhole = mood === "calm" && !commands.some(({ command }) => command.do === "archive");
          if (isWhole) for (const { viewer } of play.watched) notAnew(viewer);
          play.feed.close();
          await idle(scheduler);
        },
      ),
      { numRuns: RUNS, seed: SEED },
    );
    const share = RUNS / 100_000;
    expect(seen.viewers).toBeGreaterThan(100_000 * share);
    expect(seen.frames).toBeGreaterThan(200_000 * share);
    expect(seen.slow).toBeGreaterThan(1_000 * share);
    expect(seen.anew).toBeGreaterThan(1_000 * share);
    expect(seen.resumed).toBeGreaterThan(10_000 * share);
  },
  LONG_MS,
);

/** Where nothing was lost or trimmed, only who was slow begins again. */
function notAnew(viewer: TestViewer): void {
  for (const { reason } of viewer.beginnings.slice(1)) expect(reason).toBe("slow");
}
