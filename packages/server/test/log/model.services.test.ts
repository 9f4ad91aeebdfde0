/**
 * Compares the Redis scripts with the memory engine: both get the same random requests in the same order. Both must
 * return the same answers and end with the same log.
 */
import { assertCases } from "@turnstream/conformance/support/cases.ts";
import { sharedRedisUrl, freshPrefix } from "@turnstream/testkit/servers/shared-servers.ts";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isLogError } from "../../src/log/errors.ts";
import type { Log } from "../../src/log/log.ts";
import { createMemoryLog } from "../../src/log/memory.ts";
import { createRedisLog } from "../../src/log/redis/create-redis-log.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { readAll, takeover, titles, sessionRef } from "./drafts.ts";

let redis: Log;
beforeAll(async () => {
  const url = sharedRedisUrl();
  redis = await createRedisLog({ url, keyPrefix: freshPrefix(), now: () => 1, responseTimeoutMs: 30_000 });
});
afterAll(() => redis.close());

const epoch = fc.integer({ min: 1, max: 5 });
const seq = fc.integer({ min: 0, max: 12 });
const cursor = fc.tuple(fc.integer({ min: 0, max: 5 }), seq).map(([e, s]) => (s === 0 ? "0-0" : `${e}-${s}`));
const writer = fc.constantFrom("w1", "w2", "w3");
const counter = fc.integer({ min: 1, max: 4 });
const events = fc
  .integer({ min: 1, max: 3 })
  .map((count) => titles(...Array.from({ length: count }, (_, n) => `${n}`)));

type Ask = (log: Log, session: SessionRef) => Promise<unknown>;

const asks: fc.Arbitrary<[string, Ask]> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({
        epoch,
        writer,
        archivedUpTo: cursor,
        isRetry: fc.boolean(),
        last: fc.option(fc.oneof(cursor, fc.constant("the end")), { nil: null }),
      })
      .map(
        ({ last, ...claim }) =>
          [
            `claim ${JSON.stringify({ last, ...claim })}`,
            async (log, session) => {
              const end = (await log.head(session))?.last ?? claim.archivedUpTo;
              const after = last === null ? {} : { last: last === "the end" ? end : last };
              // Memory has nothing to set aside: it is lost with the process.
              const { setAside: _, ...claimed } = await log.claim(session, {
                ...claim,
                ...after,
                event: takeover(),
              });
              return claimed;
            },
          ] as [string, Ask],
      ),
  },
  {
    weight: 6,
    arbitrary: fc
      .record({
        writer,
        counter,
        events,
        epoch: fc.option(epoch, { nil: null }),
        isRetry: fc.boolean(),
        generation: fc.constantFrom(0, 0, 0, 1, 2),
        since: fc.option(cursor, { nil: null }),
      })
      .map(
        ({ epoch: own, since, ...batch }) =>
          [
            `append ${JSON.stringify({ own, since, ...batch })}`,
            (log, session) =>
              log.append(session, {
                ...batch,
                ...(own === null ? {} : { epoch: own }),
                ...(since === null ? {} : { since }),
              }),
          ] as [string, Ask],
      ),
  },
  {
    weight: 2,
    arbitrary: cursor.map(
      (upTo) => [`trim ${upTo}`, (log, session) => log.trim(session, upTo)] as [string, Ask],
    ),
  },
  {
    weight: 3,
    arbitrary: fc.record({ after: cursor, limit: fc.integer({ min: 1, max: 4 }) }).map(
      (range) =>
        [
          `read ${JSON.stringify(range)}`,
          async (log, session) => {
            const page = await log.read(session, range);
            return page.ok ? { ...page, entries: page.entries.map(({ text }) => text) } : page;
          },
        ] as [string, Ask],
    ),
  },
  {
    weight: 1,
    arbitrary: cursor.map(
      (archived) =>
        [`expire ${archived}`, (log, session) => log.expire(session, archived, 3_600_000)] as [string, Ask],
    ),
  },
  { weight: 1, arbitrary: fc.constant(["head", (log, session) => log.head(session)] as [string, Ask]) },
  { weight: 1, arbitrary: fc.constant(["remove", (log, session) => log.remove(session)] as [string, Ask]) },
);

async function answerOf(ask: Ask, log: Log, session: SessionRef): Promise<unknown> {
  try {
    return await ask(log, session);
  } catch (error) {
    if (!isLogError(error)) throw error;
    return { refused: error.code, epoch: error.epoch };
  }
}

const retry = { writer: "w1", events: titles("0"), counter: 1, isRetry: true };
/** A retry whose claim was trimmed. It is rare in generated programs. */
const UNSURE: [string, Ask][] = [
  ["trim 1-1", (log, session) => log.trim(session, "1-1")],
  ["append after its claim was trimmed", (log, session) => log.append(session, { ...retry, epoch: 1 })],
];

test("Redis and memory return the same answers for any sequence of requests", async () => {
  const seen = new Set<string>();
  await assertCases(
    fc.asyncProperty(fc.array(asks, { minLength: 1, maxLength: 30 }), async (list) => {
      const session = sessionRef();
      const memory = createMemoryLog({ now: () => 1 });
      await redis.claim(session, { epoch: 1, writer: "w1", event: takeover(), archivedUpTo: "0-0" });
      await memory.claim(session, { epoch: 1, writer: "w1", event: takeover(), archivedUpTo: "0-0" });
      for (const [name, ask] of list) {
        const wanted = await answerOf(ask, memory, session);
        expect(await answerOf(ask, redis, session), name).toEqual(wanted);
        if (typeof wanted === "object" && wanted !== null && "refused" in wanted)
          seen.add(String(wanted.refused));
      }
      const head = await memory.head(session);
      expect(await redis.head(session)).toEqual(head);
      if (head !== null) {
        const texts = async (log: Log) => (await readAll(log, session, head.base)).map(({ text }) => text);
        expect(await texts(redis)).toEqual(await texts(memory));
      }
      await memory.close();
    }),
    { push: 400, full: 2_000 },
    { examples: [[UNSURE]] },
  );
  expect([...seen].toSorted()).toEqual(["FENCED", "MOVED", "OUTBID", "UNCLAIMED", "UNSURE"]);
});
