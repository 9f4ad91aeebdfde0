/**
 * Tests the transition from replay to live under random schedules: appends, claims, trims, lost connections, failovers
 * and wipes around readers that attach anywhere. Every reader receives exactly the log, or must resync.
 */
import {
  assertCases,
  type CaseCounts,
  leastSeen,
  totalCases,
} from "@turnstream/conformance/support/cases.ts";
import fc, { type Scheduler } from "fast-check";
import { expect, test } from "vitest";
import { LogError } from "../../../src/log/errors.ts";
import type { Log } from "../../../src/log/log.ts";
import { createStreamLog } from "../../../src/log/stream-log.ts";
import { sessionKey } from "../../../src/util/refs.ts";
import { Reader, sessionStart, takeover, titles, sessionRef } from "../drafts.ts";
import { ScheduledEngine } from "../scheduled-engine.ts";

const CASES: CaseCounts = { push: 4_000, full: 100_000 };
const SESSION = sessionRef("s");
const NAME = sessionKey(SESSION);

type Command =
  | { readonly do: "append"; readonly events: number; readonly zombie: boolean }
  | { readonly do: "join" }
  | { readonly do: "claim" }
  | { readonly do: "attach"; readonly back: number }
  | { readonly do: "trim"; readonly keep: number }
  | { readonly do: "reconnect" }
  | { readonly do: "leave" }
  | { readonly do: "fail over"; readonly lose: number }
  | { readonly do: "wipe" }
  | { readonly do: "drop" };

const calm = [
  fc.record({
    do: fc.constant("append" as const),
    events: fc.integer({ min: 1, max: 3 }),
    zombie: fc.constant(false),
  }),
  fc.record({ do: fc.constant("append" as const), events: fc.constant(1), zombie: fc.boolean() }),
  fc.record({ do: fc.constant("attach" as const), back: fc.integer({ min: 0, max: 6 }) }),
  fc.record({ do: fc.constant("attach" as const), back: fc.integer({ min: 0, max: 3 }) }),
  fc.constant<Command>({ do: "join" }),
  fc.constant<Command>({ do: "claim" }),
  fc.constant<Command>({ do: "reconnect" }),
  fc.constant<Command>({ do: "leave" }),
];
const drop = fc.constant<Command>({ do: "drop" });
const lossy = [...calm, drop, drop, drop];
const rough = [
  ...calm,
  drop,
  fc.record({ do: fc.constant("trim" as const), keep: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ do: fc.constant("fail over" as const), lose: fc.integer({ min: 0, max: 3 }) }),
  fc.constant<Command>({ do: "wipe" }),
];

type Mood = "calm" | "lossy" | "rough";

function ofMood(mood: Mood, commands: fc.Arbitrary<Command>[]) {
  // The number of scheduler steps before the next command: some commands overlap, some run one after the other.
  const step = fc.record({ command: fc.oneof(...commands), steps: fc.oneof(fc.nat(2), fc.nat(9)) });
  const list = fc.array(step, { minLength: 2, maxLength: 9 });
  return fc.record({ mood: fc.constant(mood), commands: list });
}
const anyCommands = fc.oneof(ofMood("calm", calm), ofMood("lossy", lossy), ofMood("rough", rough));

const seen = { delivered: 0, ended: 0, fenced: 0, unclaimed: 0, readers: 0 };

class World {
  readonly engine: ScheduledEngine;
  readonly log: Log;
  readonly readers: [Reader, string][] = [];
  epoch = 1;
  counter = 0;
  known = ["0-0"];

  constructor(scheduler: Scheduler) {
    this.engine = new ScheduledEngine(scheduler);
    this.log = createStreamLog(this.engine, { now: () => 1, pageSize: 3, maxQueued: 600 });
  }

  async run(command: Command): Promise<void> {
    const { log, engine } = this;
    switch (command.do) {
      case "append": {
        // A zombie still writes with the previous epoch.
        const epoch = command.zombie ? this.epoch - 1 : this.epoch;
        const events = titles(...Array.from({ length: command.events }, (_, n) => `${this.counter}.${n}`));
        return this.write(
          log.append(SESSION, { writer: `w${epoch}`, epoch, counter: ++this.counter, events }),
        );
      }
      case "join":
        return this.write(
          log.append(SESSION, { writer: "gateway", counter: ++this.counter, events: titles("j") }),
        );
      case "claim": {
        const epoch = ++this.epoch;
        return this.write(
          log.claim(SESSION, { epoch, writer: `w${epoch}`, event: takeover(), archivedUpTo: "0-0" }),
        );
      }
      case "attach": {
        const after = this.known.at(-1 - (command.back % this.known.length)) ?? "0-0";
        this.readers.push([new Reader(log, SESSION, { after }), after]);
        return;
      }
      case "trim": {
        const upTo = this.known.at(-1 - command.keep);
        if (upTo !== undefined) await log.trim(SESSION, upTo);
        return;
      }
      case "reconnect":
        return engine.reconnect();
      case "leave":
        await this.readers.at(-1)?.[0].stop();
        return;
      case "fail over":
        engine.inner.failOver({ [NAME]: command.lose });
        return engine.reconnect();
      case "wipe":
        engine.inner.wipe();
        return;
      case "drop":
        engine.drop();
    }
  }

  async write(work: Promise<{ epoch: number; last: number }>): Promise<void> {
    try {
      const { epoch, last } = await work;
      this.known.push(`${epoch}-${last}`);
    } catch (error) {
      if (!(error instanceof LogError)) throw error;
      if (error.code === "FENCED" || error.code === "OUTBID") seen.fenced++;
      else if (error.code === "UNCLAIMED") seen.unclaimed++;
      else throw error;
    }
  }

  async check(mood: Mood): Promise<void> {
    const head = await this.engine.inner.head(NAME);
    const last = head === null ? null : `${head.last.epoch}-${head.last.seq}`;
    for (const [reader, after] of this.readers) {
      seen.readers++;
      let at = after;
      for (const cursor of reader.cursors) {
        // The predecessor must match exactly: no gap, no overlap, no jump to another timeline.
        if (this.engine.before.get(cursor) !== at) throw new Error(`${cursor} delivered after ${at}`);
        at = cursor;
        seen.delivered++;
      }
      if (reader.end !== null) {
        seen.ended++;
        if (mood !== "rough") throw new Error(`ended without reason: ${reader.end}`);
      } else if (!reader.stopped && at !== last) {
        throw new Error(`a reader stays at ${at} while the log is at ${last}`);
      }
    }
  }
}

test(`${totalCases(CASES)} interleavings: every reader receives exactly the log or has to resync`, async () => {
  await assertCases(
    fc.asyncProperty(fc.scheduler(), anyCommands, async (scheduler, { commands, mood }) => {
      const world = new World(scheduler);
      await world.engine.watch(NAME);
      await world.engine.inner.claim(NAME, {
        epoch: 1,
        writer: "w1",
        line: `w1:0 ${JSON.stringify({ v: 1, ...sessionStart(SESSION) })}`,
        floor: { epoch: 0, seq: 0 },
        last: null,
        repeat: false,
      });
      world.known.push("1-1");
      const running: Promise<void>[] = [];
      for (const { command, steps } of commands) {
        running.push(world.run(command));
        for (let n = 0; n < steps && scheduler.count() > 0; n++) await scheduler.waitOne();
      }
      await scheduler.waitIdle();
      await Promise.all(running);
      if (!commands.some(({ command }) => command.do === "drop")) await world.check(mood);
      // A silent loss becomes visible with the next write.
      const ending = Promise.all([world.run({ do: "join" }), world.run({ do: "claim" })]);
      await scheduler.waitIdle();
      await ending;
      await world.check(mood);
      const stopping = Promise.all(world.readers.map(([reader]) => reader.stop()));
      await scheduler.waitIdle();
      await stopping;
    }),
    CASES,
  );
  // Check that the random cases also covered the failure paths.
  expect(seen.readers).toBeGreaterThan(leastSeen(1, CASES));
  expect(seen.delivered).toBeGreaterThan(leastSeen(1, CASES));
  expect(seen.ended).toBeGreaterThan(leastSeen(0.01, CASES));
  expect(seen.fenced).toBeGreaterThan(leastSeen(0.01, CASES));
  expect(seen.unclaimed).toBeGreaterThan(leastSeen(0.01, CASES));
});
