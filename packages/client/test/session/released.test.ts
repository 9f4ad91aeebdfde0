/** Tests that a session that is no longer used leaves nothing behind: it counts timers, listeners and subscriptions. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createClient } from "../../src/client.ts";
import type { Client } from "../../src/client-interface.ts";
import { sharedStorage } from "../outbox/stage.ts";

const URL = "https://chat.example.com";
const SESSIONS = 50;

/** What clients have open: listeners of the window and of the page. */
const listeners = { storage: 0, page: 0 };

beforeEach(() => {
  vi.useFakeTimers();
  Object.assign(listeners, { storage: 0, page: 0 });
});
afterEach(() => void vi.useRealTimers());

const page = {
  isPage: false,
  isOnline: () => true,
  isHidden: () => false,
  isFrozen: () => false,
  isMultiplexed: () => false,
  onChange() {
    listeners.page += 1;
    return () => void (listeners.page -= 1);
  },
  onStorage() {
    listeners.storage += 1;
    return () => void (listeners.storage -= 1);
  },
};

function open(fetch: typeof globalThis.fetch, storage = sharedStorage()): Client {
  storage.entries.set(`turnstream:person:${URL}`, "");
  return createClient({
    url: URL,
    auth: () => ({ headers: {} }),
    env: { page, storage: storage.of({}), fetch },
  });
}

const noAnswer = () => new Promise<Response>(() => {});
const left = () => ({ ...listeners, timers: vi.getTimerCount() });

test("sessions that were opened and left have no timer and no listener", async () => {
  const client = open(noAnswer);
  const idle = left();
  const leave = Array.from({ length: SESSIONS }, (_, n) => client.session(`s${n}`).subscribe(() => {}));
  expect(left()).toMatchObject({ storage: SESSIONS, page: idle.page + SESSIONS });
  for (const unsubscribe of leave) unsubscribe();
  await vi.advanceTimersByTimeAsync(6_000);
  expect(left()).toEqual(idle);
  client.close();
  expect(left()).toEqual({ storage: 0, page: 0, timers: 0 });
});

test("sessions that are only named have no timer and no listener", () => {
  const client = open(noAnswer);
  const idle = left();
  for (let n = 0; n < SESSIONS; n += 1) client.session(`s${n}`);
  expect(left()).toEqual(idle);
});

test("an outbox is released when its messages were sent without a subscriber", async () => {
  const client = open(async () => Response.json({ agents: [] }));
  // Confirms the user, so that the messages are not taken for those of before a reload.
  await client.listAgents();
  const idle = left();
  const sent = Array.from({ length: SESSIONS }, (_, n) => client.session(`s${n}`).send({ text: "Hello" }));
  expect(listeners.storage).toBe(SESSIONS);
  await Promise.all(sent.map(({ done }) => done));
  // A sent message waits for a minute for its place in the log.
  await vi.advanceTimersByTimeAsync(61_000);
  expect(left()).toEqual(idle);
});

test("closing a client in the middle of everything leaves nothing", async () => {
  const client = open(noAnswer);
  for (let n = 0; n < SESSIONS; n += 1) {
    const session = client.session(`s${n}`);
    if (n % 2 === 0) session.subscribe(() => {});
    if (n % 3 === 0) session.send({ text: "Hello" });
  }
  await vi.advanceTimersByTimeAsync(1_000);
  client.close();
  // Requests and commands end by themselves, within a minute.
  await vi.advanceTimersByTimeAsync(61_000);
  expect(left()).toEqual({ storage: 0, page: 0, timers: 0 });
});

test("a session that is used again has the messages that another tab has stored or removed in the meantime", async () => {
  const storage = sharedStorage();
  const session = open(noAnswer, storage).session("s");
  const writer = open(noAnswer, storage).session("s");
  session.subscribe(() => {})();
  await vi.advanceTimersByTimeAsync(6_000);
  const { id } = writer.send({ text: "from another tab" });
  expect(session.getSnapshot().outbox).toEqual([]);
  const leave = session.subscribe(() => {});
  expect(session.getSnapshot().outbox).toMatchObject([{ id, text: "from another tab", isOwn: false }]);
  leave();
});
