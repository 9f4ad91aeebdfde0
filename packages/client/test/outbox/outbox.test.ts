/** Tests the outbox of a session: across reloads, in several tabs, and with a failing storage. */
import { emptyState, type SessionState, type UserMessage } from "@turnstream/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ClientError } from "../../src/errors.ts";
import { clientMessageId } from "../../src/outbox/message.ts";
import { createIdentity } from "../../src/auth/identity.ts";
import { clearStoredData, outboxKey, listPendingSessions } from "../../src/outbox/storage.ts";
import { openTab, sharedStorage, type Tab } from "./stage.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

const unsure = new ClientError("UNSURE", "lost");
const statuses = (tab: Tab): string[] => tab.outbox.list().map(({ text, status }) => `${text} ${status}`);
const logWith = (...ids: string[]): SessionState => ({
  ...emptyState,
  waiting: ids.map((id): UserMessage => ({
    id,
    text: "",
    files: [],
    whole: null,
    by: null,
    resumes: null,
    at: 0,
  })),
});

test("a message waits for a connection, is sent once, and leaves once the log contains it", async () => {
  const tab = openTab(sharedStorage());
  const { id, done } = tab.outbox.add({ text: "a" });
  expect(statuses(tab)).toEqual(["a waiting"]);
  tab.outbox.setConnected(true);
  expect(statuses(tab)).toEqual(["a sending"]);
  expect(clientMessageId(id)).toBe(id.slice(2));
  await tab.underWay[0]?.answer();
  await done;
  expect(statuses(tab)).toEqual(["a sending"]);
  tab.outbox.removeLogged(logWith("c.other"));
  expect(statuses(tab)).toEqual(["a sending"]);
  tab.outbox.removeLogged(logWith(id));
  expect([tab.outbox.list(), tab.sent]).toEqual([[], ["a"]]);
});

test("messages written offline are sent after a reload, in order and with their ids", async () => {
  const storage = sharedStorage();
  const before = openTab(storage);
  const ids = ["a", "b", "c"].map((text) => before.outbox.add({ text, agentId: "guide" }).id);
  before.outbox.close();
  const after = openTab(storage);
  expect(after.outbox.list().map(({ id }) => id)).toEqual(ids);
  after.outbox.setConnected(true);
  // Messages are sent one at a time: the next one after the server has the previous one.
  for (const text of ["a", "b", "c"]) {
    expect(after.underWay.map(({ message }) => [message.text, message.agent])).toEqual([[text, "guide"]]);
    await after.underWay[0]?.answer();
  }
  after.outbox.removeLogged(logWith(...ids));
  expect([after.outbox.list(), storage.entries.size]).toEqual([[], 0]);
});

test("a message with an unknown outcome is sent again with the same id, and later ones wait", async () => {
  const tab = openTab(sharedStorage());
  tab.outbox.setConnected(true);
  const { id, done } = tab.outbox.add({ text: "a" });
  tab.outbox.add({ text: "b" });
  await tab.underWay[0]?.answer(unsure);
  expect(statuses(tab)).toEqual(["a waiting", "b waiting"]);
  expect(tab.underWay).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(tab.underWay.map(({ message }) => message.id)).toEqual([id]);
  await tab.underWay[0]?.answer();
  await done;
  expect(tab.sent).toEqual(["a", "a", "b"]);
});

test("a new connection triggers an immediate retry", async () => {
  const tab = openTab(sharedStorage());
  tab.outbox.setConnected(true);
  tab.outbox.add({ text: "a" });
  await tab.underWay[0]?.answer(new ClientError("OFFLINE", "away"));
  tab.outbox.setConnected(false);
  vi.advanceTimersByTime(60_000);
  expect(tab.sent).toEqual(["a"]);
  tab.outbox.setConnected(true);
  expect(tab.sent).toEqual(["a", "a"]);
});

test("a refused message stays with its error, doesn't block others, and can be resent or discarded", async () => {
  const storage = sharedStorage();
  const tab = openTab(storage);
  tab.outbox.setConnected(true);
  const { id, done } = tab.outbox.add({ text: "a" });
  tab.outbox.add({ text: "b" });
  await tab.underWay[0]?.answer(new ClientError("TOO_LARGE", "too long"));
  await expect(done).rejects.toMatchObject({ code: "TOO_LARGE" });
  expect(statuses(tab)).toEqual(["a failed", "b sending"]);
  expect(openTab(storage).outbox.list()[0]).toMatchObject({
    status: "failed",
    error: { message: "too long" },
  });
  await tab.underWay[0]?.answer();
  tab.outbox.resend(id);
  expect(tab.underWay[0]?.message).toMatchObject({ id, text: "a" });
  await tab.underWay[0]?.answer(new ClientError("FORBIDDEN", "no"));
  expect(tab.outbox.discard(id)).toBe(true);
  expect(statuses(tab)).toEqual(["b sending"]);
});

test("a temporary refusal is retried after its retry delay, a limited number of times", async () => {
  const tab = openTab(sharedStorage());
  tab.outbox.setConnected(true);
  tab.outbox.add({ text: "a" });
  const busy = new ClientError("RATE_LIMITED", "wait", { canRetry: true, retryAfterSeconds: 20 });
  await tab.underWay[0]?.answer(busy);
  vi.advanceTimersByTime(19_000);
  expect(tab.underWay).toEqual([]);
  vi.advanceTimersByTime(1_000);
  for (let n = 0; n < 20; n += 1) {
    await tab.underWay[0]?.answer(busy);
    vi.advanceTimersByTime(60_000);
  }
  expect([tab.sent.length, statuses(tab)]).toEqual([8, ["a failed"]]);
});

test("a message fails at once if the server asks to wait for more than a minute", async () => {
  const tab = openTab(sharedStorage());
  tab.outbox.setConnected(true);
  tab.outbox.add({ text: "a" });
  const used = new ClientError("RATE_LIMITED", "wait", { canRetry: true, retryAfterSeconds: 7_200 });
  await tab.underWay[0]?.answer(used);
  expect([tab.sent.length, statuses(tab)]).toEqual([1, ["a failed"]]);
});

test("a message that the server may have can't be discarded", async () => {
  const tab = openTab(sharedStorage());
  const { id } = tab.outbox.add({ text: "a" });
  tab.outbox.setConnected(true);
  expect(tab.outbox.discard(id)).toBe(false);
  await tab.underWay[0]?.answer(unsure);
  expect(tab.outbox.discard(id)).toBe(false);
  const unsent = openTab(sharedStorage());
  const never = unsent.outbox.add({ text: "b" });
  expect(unsent.outbox.discard(never.id)).toBe(true);
  await expect(never.done).rejects.toMatchObject({ code: "ABORTED" });
});

test("other tabs show a message, and send it only after the tab that wrote it has closed", async () => {
  const storage = sharedStorage();
  const [one, two] = [openTab(storage), openTab(storage)];
  one.outbox.setConnected(true);
  two.outbox.setConnected(true);
  const { id } = one.outbox.add({ text: "a" });
  expect(statuses(two)).toEqual(["a waiting"]);
  vi.advanceTimersByTime(9_000);
  expect([one.sent, two.sent]).toEqual([["a"], []]);
  one.outbox.close();
  vi.advanceTimersByTime(2_000);
  expect(two.underWay.map(({ message }) => message.id)).toEqual([id]);
  await two.underWay[0]?.answer();
  two.outbox.removeLogged(logWith(id));
  expect(storage.entries.size).toBe(0);
});

test("only the page that wrote a message has it as its own, even after another page has sent it", async () => {
  const storage = sharedStorage();
  const [one, two] = [openTab(storage), openTab(storage)];
  two.outbox.setConnected(true);
  one.outbox.add({ text: "a" });
  const own = () => [one, two].map(({ outbox }) => outbox.list().map(({ isOwn }) => isOwn));
  expect(own()).toEqual([[true], [false]]);
  // The first tab isn't connected, so the other tab sends the message and records that in the storage.
  vi.advanceTimersByTime(11_000);
  expect(two.sent).toEqual(["a"]);
  expect(own()).toEqual([[true], [false]]);
  expect(openTab(storage).outbox.list()).toMatchObject([{ isOwn: false }]);
});

test("a message that one tab found in the log leaves another tab once that tab finds it too", async () => {
  const storage = sharedStorage();
  const [one, two] = [openTab(storage), openTab(storage)];
  one.outbox.setConnected(true);
  const { id } = one.outbox.add({ text: "a" });
  await one.underWay[0]?.answer();
  expect(statuses(two)).toEqual(["a waiting"]);
  one.outbox.removeLogged(logWith(id));
  expect([statuses(one), statuses(two)]).toEqual([[], ["a sending"]]);
  two.outbox.removeLogged(logWith(id));
  expect([statuses(two), two.sent]).toEqual([[], []]);
});

test("a message that another tab found in an older part of the log leaves a minute after the tab has a connection", async () => {
  const storage = sharedStorage();
  const [one, two] = [openTab(storage), openTab(storage)];
  one.outbox.setConnected(true);
  const { id } = one.outbox.add({ text: "a" });
  one.outbox.removeLogged(logWith(id));
  vi.advanceTimersByTime(70_000);
  expect(statuses(two)).toEqual(["a sending"]);
  two.outbox.setConnected(true);
  vi.advanceTimersByTime(0);
  expect([statuses(two), two.sent]).toEqual([[], []]);
});

test("a message that another tab discards leaves at once", () => {
  const storage = sharedStorage();
  const [one, two] = [openTab(storage), openTab(storage)];
  const { id } = one.outbox.add({ text: "a" });
  expect(statuses(two)).toEqual(["a waiting"]);
  one.outbox.discard(id);
  expect(statuses(two)).toEqual([]);
});

test("a message that was discarded while this page was in the back/forward cache is not sent", () => {
  const storage = sharedStorage();
  const [one, two] = [openTab(storage), openTab(storage)];
  one.outbox.add({ text: "a" });
  expect(statuses(two)).toEqual(["a waiting"]);
  storage.entries.clear();
  two.outbox.setConnected(true);
  expect([statuses(two), two.sent]).toEqual([[], []]);
});

test("a tab without a connection is told when it may send the message of another tab", () => {
  const storage = sharedStorage();
  const [one, two] = [openTab(storage), openTab(storage)];
  one.outbox.add({ text: "a" });
  vi.advanceTimersByTime(9_000);
  expect([one.due, two.due]).toEqual([0, 0]);
  vi.advanceTimersByTime(1_000);
  expect([one.due, two.due]).toEqual([0, 1]);
});

test("a message whose turn is not loaded leaves a minute after the server has it", async () => {
  const tab = openTab(sharedStorage());
  tab.outbox.setConnected(true);
  tab.outbox.add({ text: "a" });
  await tab.underWay[0]?.answer();
  vi.advanceTimersByTime(59_000);
  expect(statuses(tab)).toEqual(["a sending"]);
  vi.advanceTimersByTime(1_000);
  expect(tab.outbox.list()).toEqual([]);
});

test("a message older than a day is sent only if the user resends it", () => {
  const storage = sharedStorage();
  openTab(storage).outbox.add({ text: "sell" });
  vi.advanceTimersByTime(25 * 3_600_000);
  const tab = openTab(storage);
  tab.outbox.setConnected(true);
  expect([statuses(tab), tab.sent]).toEqual([["sell failed"], []]);
  tab.outbox.resend(tab.outbox.list()[0]?.id ?? "");
  expect(tab.sent).toEqual(["sell"]);
});

test("entries that are invalid, unrelated or of another outbox are ignored", () => {
  const storage = sharedStorage();
  const stored = openTab(storage).outbox.add({ text: "a" });
  const prefix = "turnstream:outbox:here:";
  const text = storage.entries.get(prefix + stored.id) ?? "";
  for (const [n, broken] of ["", "{", "[]", "null", "7", text.replace('"v":1', '"v":9'), "{}"].entries())
    storage.entries.set(`${prefix}c.${n}`, broken);
  storage.entries.set(`${prefix}c.moved`, text);
  storage.entries.set("unrelated", text);
  expect(
    openTab(storage)
      .outbox.list()
      .map(({ id }) => id),
  ).toEqual([stored.id]);
  expect(openTab(storage, "there").outbox.list()).toEqual([]);
});

test("messages are sent even if the storage is full", () => {
  const storage = sharedStorage();
  storage.isFull = true;
  const tab = openTab(storage);
  tab.outbox.setConnected(true);
  tab.outbox.add({ text: "a" });
  expect([tab.sent, storage.entries.size]).toEqual([["a"], 0]);
});

test("the outbox accepts 50 messages and rejects more with an error", async () => {
  const tab = openTab(sharedStorage());
  for (let n = 0; n < 50; n += 1) tab.outbox.add({ text: `${n}` });
  await expect(tab.outbox.add({ text: "more" }).done).rejects.toThrow("The outbox is full (50 messages)");
  expect(tab.outbox.list()).toHaveLength(50);
});

test("onChange is called only for changes, and the list is the same array without one", () => {
  const tab = openTab(sharedStorage());
  tab.outbox.add({ text: "a" });
  const [list, changes] = [tab.outbox.list(), tab.changes];
  tab.outbox.removeLogged(emptyState);
  tab.outbox.setConnected(false);
  expect([tab.outbox.list() === list, tab.changes]).toEqual([true, changes]);
});

test("listPendingSessions returns the sessions with unsent messages of this user only", () => {
  const storage = sharedStorage();
  const messages = [
    [outboxKey("http://s", "t/an", "ses_1"), "a"],
    [outboxKey("http://s", "t/an", "ses_1"), "b"],
    [outboxKey("http://s", "t/an", "ses_2"), "c"],
    // Another user whose name starts the same.
    [outboxKey("http://s", "t/an nguyen", "ses_3"), "d"],
    [outboxKey("http://other", "t/an", "ses_4"), "e"],
  ] as const;
  for (const [key, text] of messages) openTab(storage, key).outbox.add({ text });
  expect(listPendingSessions(storage.of({}), "http://s", "t/an")).toEqual(["ses_1", "ses_2"]);
  expect(listPendingSessions(null, "http://s", "t/an")).toEqual([]);
});

test("clearStoredData removes unsent messages and user names of all users, and nothing of the app", () => {
  const storage = sharedStorage();
  const signedOut = {};
  for (const key of ["here", "there"]) {
    const tab = openTab(storage, key);
    tab.outbox.add({ text: `secret of ${key}` });
    tab.outbox.close();
  }
  createIdentity("https://a.example", storage.of(signedOut)).update({ token: "a.b.c" });
  storage.entries.set("app:theme", "dark");
  const other = openTab(storage, "here");
  expect(statuses(other)).toEqual(["secret of here waiting"]);
  clearStoredData(storage.of(signedOut));
  expect([...storage.entries.keys()]).toEqual(["app:theme"]);
  // Another open tab drops the message too, instead of sending it for the user who signed out.
  other.outbox.setConnected(true);
  expect([statuses(other), other.sent]).toEqual([[], []]);
});

function refuse(): never {
  throw new DOMException("denied", "SecurityError");
}

test("clearStoredData accepts a page without a storage, and one that refuses", () => {
  const storage = { length: 1, key: refuse, getItem: refuse, setItem: refuse, removeItem: refuse };
  expect(() => {
    clearStoredData();
    clearStoredData(null);
    clearStoredData(storage);
  }).not.toThrow();
});
