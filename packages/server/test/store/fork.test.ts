/** Tests the log of a fork: legal from its first event, closed at its end, and with the same visible content. */
import { legalLog } from "@turnstream/conformance/generator/legal-log.ts";
import { assertCases } from "@turnstream/conformance/support/cases.ts";
import {
  listBlocks,
  emptyState,
  type SessionEvent,
  fold,
  foldAll,
  isPending,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import { coalesce, checkEvent } from "@turnstream/protocol/writer";
import fc from "fast-check";
import { expect, test } from "vitest";

import { forkLog } from "../../src/store/fork/fork-log.ts";

const made = { session: "ses_fork", number: 99, firstEpoch: 1000, at: 5 };

function foldLegally(events: readonly SessionEvent[]): SessionState {
  let state = emptyState;
  for (const event of events) {
    const wrong = checkEvent(state, event);
    if (wrong !== null) throw new Error(`${wrong.rule} ${event.type} at ${event.id}: ${wrong.message}`);
    state = fold(state, event);
  }
  return state;
}

function epochs(list: readonly SessionEvent[]): number[] {
  return list.map((event) => Number(event.id.split("-")[0]));
}

/** The visible content of a turn, without what closing it changes. */
function shown(turn: Turn) {
  const { id, number, start, started_at, mode } = turn;
  // The author is not copied.
  const message = turn.message === null ? null : { ...turn.message, by: null };
  const blocks = listBlocks(turn).filter((block) => block.end !== null);
  const texts = blocks.map((block) => [block.id, block.kind, "text" in block ? block.text : null]);
  return { id, number, message, start, started_at, mode, texts };
}

test("every prefix of a legal log forks to a legal log with nothing open", async () => {
  await assertCases(
    fc.property(legalLog(120), fc.nat(), fc.boolean(), (log, cut, merged) => {
      const source = log.slice(0, cut % (log.length + 1));
      const events = forkLog(merged ? coalesce(source) : source, made);
      const state = foldLegally(events);
      expect(state).toMatchObject({ session: "ses_fork", number: 99, waiting: [] });
      for (const turn of state.turns.toArray()) {
        expect(turn.status).not.toBe("running");
        for (const block of listBlocks(turn)) {
          expect(block.end).not.toBeNull();
          if ("version" in block) expect(isPending(block)).toBe(false);
          if (block.kind === "payment") expect(block.checkout_url).toBe("");
        }
      }
    }),
    { push: 300, full: 2_000 },
  );
});

test("a fork shows the turns of its source", async () => {
  await assertCases(
    fc.property(legalLog(120), (log) => {
      const before = foldAll(log).turns.toArray().map(shown);
      const after = foldAll(forkLog(log, made)).turns.toArray().map(shown);
      expect(after).toHaveLength(before.length);
      before.forEach((turn, n) => {
        const { texts, ...rest } = after[n] as ReturnType<typeof shown>;
        expect({ ...rest, texts: texts.filter(([id]) => turn.texts.some(([was]) => was === id)) }).toEqual(
          turn,
        );
      });
    }),
    { push: 75, full: 500 },
  );
});

test("a fork contains no user names and no form values", async () => {
  let filled = 0;
  await assertCases(
    fc.property(legalLog(120), (log) => {
      const fork = forkLog(log, made);
      expect(fork.filter((event) => "by" in event)).toEqual([]);
      filled += log.filter((event) => "values" in event).length;
      for (const event of fork) if ("values" in event) expect(event.values).toEqual({});
    }),
    { push: 45, full: 300 },
  );
  expect(filled).toBeGreaterThan(0);
});

test("renumbers epochs in their order and keeps seqs", async () => {
  await assertCases(
    fc.property(legalLog(80), (log) => {
      const events = forkLog(log, made).slice(0, log.length);
      const order = [...new Set(epochs(log))];
      expect(epochs(events)).toEqual(epochs(log).map((epoch) => 1000 + order.indexOf(epoch)));
      expect(events.map((event) => event.id.split("-")[1])).toEqual(
        log.map((event) => event.id.split("-")[1]),
      );
    }),
    { push: 30, full: 200 },
  );
});

test("a fork of an empty session is a session that has just started", () => {
  expect(forkLog([], made)).toEqual([
    expect.objectContaining({ id: "1000-1", at: 5, type: "session.start", session: "ses_fork", number: 99 }),
  ]);
});
