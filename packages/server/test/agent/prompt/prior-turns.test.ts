/** Tests that what a turn reads of earlier turns is bounded, and does not depend on the length of the session. */
import { expect, test } from "vitest";
import { readPriorTurns } from "../../../src/agent/prompt/prior-turns.ts";
import { createMemoryStore } from "@turnstream/testing";
import type { ClosableStore, Store } from "../../../src/store/store.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { batchOf, chat } from "../../store/archive-batch.ts";
import { newSession } from "../../store/harness.ts";

/** Characters of the answer of one turn. */
const CHARS = 6_000;

async function sessionOf(store: ClosableStore, turns: number, chars = CHARS): Promise<SessionRef> {
  const { ref } = await newSession(store);
  expect(await store.archive.write(ref, batchOf(chat(turns, "ab ".repeat(chars / 6))))).toBe("written");
  return ref;
}

async function readOf(store: Store, ref: SessionRef, number: number, maxTokens: number) {
  const pages: number[] = [];
  const list: Store["turns"]["list"] = async (...of) => {
    const page = await store.turns.list(...of);
    pages.push(page.length);
    return page;
  };
  const counting = { ...store, turns: { ...store.turns, list } };
  const current = { id: "now", number, retries: null };
  const context = { store: counting, requestKinds: new Map() };
  const prior = await readPriorTurns({ context, ref }, current, { withImages: false, maxTokens });
  return { prior, rows: pages.reduce((sum, length) => sum + length, 0), pages: pages.length };
}

test("reads no page after the budget is full, however long the session is", async () => {
  const store = createMemoryStore();
  const maxTokens = 30_000;
  const fitting = Math.ceil((4 * maxTokens) / CHARS) + 1;
  const found = [];
  for (const turns of [100, 200]) {
    const ref = await sessionOf(store, turns);
    const { prior, rows, pages } = await readOf(store, ref, turns + 1, maxTokens);
    // At most one turn beyond the budget is in the prompt, and at most one page beyond it is read.
    expect(prior.turns.length).toBeLessThanOrEqual(fitting);
    expect(prior.turns.length).toBeGreaterThan(fitting - 4);
    expect(prior.turns.at(-1)?.turn.number).toBe(turns);
    expect(rows).toBeLessThanOrEqual(fitting + 20);
    found.push({ prompt: prior.turns.length, rows, pages });
  }
  expect(found[0]).toEqual(found[1]);
});

test("reads a short session as a whole, in one page", async () => {
  const store = createMemoryStore();
  const ref = await sessionOf(store, 5);
  const { prior, pages } = await readOf(store, ref, 6, 1_000_000);
  expect(prior.turns.map(({ turn }) => turn.number)).toEqual([1, 2, 3, 4, 5]);
  expect(pages).toBe(1);
});

test("the newest turns are in the prompt even if they exceed the budget", async () => {
  const store = createMemoryStore();
  const ref = await sessionOf(store, 30);
  const { prior } = await readOf(store, ref, 31, 0);
  expect(prior.turns.map(({ turn }) => turn.number)).toEqual([29, 30]);
});

test("reads no page after four million characters of stored text", async () => {
  const store = createMemoryStore();
  const chars = 300_000;
  const ref = await sessionOf(store, 60, chars);
  const { prior, rows } = await readOf(store, ref, 61, Infinity);
  expect(prior.turns.length).toBeLessThanOrEqual(Math.ceil(4_000_000 / chars) + 1);
  expect(prior.turns.length).toBeGreaterThan(10);
  expect(rows).toBe(20);
});
