/** Tests `createComposerStore`, `storeDraft`, `createExpandedState` and `watchAnnouncements`, as a page without a framework uses them. */
import { describe, expect, test } from "vitest";
import type { UploadedFile, UploadOptions } from "../../src/session/session.ts";
import { createStaticSession } from "../../src/static-session.ts";
import { createComposerStore } from "../../src/view/composer-store.ts";
import { createExpandedState } from "../../src/view/expanded-state.ts";
import { storeDraft } from "../../src/view/store-draft.ts";
import { createThreadStore } from "../../src/view/thread-store.ts";
import { type Announcement, watchAnnouncements } from "../../src/view/watch-announcements.ts";
import { LOGS } from "./vector-logs.ts";

function open() {
  const sent: unknown[] = [];
  const uploads: {
    options: UploadOptions;
    done: (file: UploadedFile) => void;
    fail: (why: Error) => void;
  }[] = [];
  const session = {
    ...createStaticSession([], { onCommand: (name, args) => void (name === "send" && sent.push(...args)) }),
    uploadFile: (_: Blob, options: UploadOptions) =>
      new Promise<UploadedFile>((done, fail) => uploads.push({ options, done, fail })),
  };
  return { session, sent, uploads };
}

const uploaded = { url: "turnstream:blob/1", name: "a.pdf", media_type: "application/pdf", size: 1 };
const file = (name: string) => new File(["x"], name, { type: "application/pdf" });
const turns = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("createComposerStore", () => {
  test("sends text with its files once their uploads are done, and empties the draft", async () => {
    const { session, sent, uploads } = open();
    const composer = createComposerStore({ agentId: "guide", mode: "chat", locale: "vi" });
    let calls = 0;
    composer.subscribe(() => calls++);
    expect(composer.send(session)).toBe(false);
    composer.set({ text: "Hello" });
    composer.attach(session, [file("a.pdf")]);
    expect(composer.send(session)).toBe(false);
    uploads[0]?.options.onProgress?.(1, 2);
    expect(composer.get().files).toMatchObject([{ name: "a.pdf", status: "uploading", sentBytes: 1 }]);
    uploads[0]?.done(uploaded as UploadedFile);
    await turns();
    expect(composer.send(session)).toBe(true);
    expect(composer.get()).toEqual({ text: "", files: [], refused: [], agentId: null });
    expect(sent).toEqual([
      { text: "Hello", files: [uploaded], agentId: "guide", mode: "chat", locale: "vi" },
    ]);
    // One at once, and one for each change.
    expect(calls).toBe(7);
  });

  test("a removed file and a closed composer abort their uploads, and a failed upload blocks the message", async () => {
    const { session, uploads } = open();
    const composer = createComposerStore({ accept: ".pdf" });
    composer.attach(session, [file("a.pdf"), file("b.txt"), file("c.pdf"), file("d.pdf")]);
    expect(composer.get().files.map(({ name }) => name)).toEqual(["a.pdf", "c.pdf", "d.pdf"]);
    expect(composer.get().refused).toEqual([{ name: "b.txt", reason: "type" }]);
    composer.attach(session, []);
    expect(composer.get().refused).toEqual([]);
    composer.removeFile("1");
    expect(uploads[0]?.options.signal?.aborted).toBe(true);
    const why = new Error("refused");
    uploads[1]?.fail(why);
    await turns();
    expect(composer.get().files).toMatchObject([
      { name: "c.pdf", status: "failed", error: why },
      { name: "d.pdf" },
    ]);
    expect(composer.send(session)).toBe(false);
    composer.close();
    expect(uploads[2]?.options.signal?.aborted).toBe(true);
  });
});

/** A session whose draft is loaded with `load`. */
function openDraft(text = "") {
  const saved: string[] = [];
  let load: ((text: string) => void) | undefined;
  const session = {
    ...createStaticSession([]),
    loadDraft: () => new Promise<string>((resolve) => (load = resolve)),
    saveDraft: (next: string) => void saved.push(next),
  };
  return { session, saved, load: () => (load?.(text), turns()) };
}

describe("storeDraft", () => {
  test("fills an empty field, is stored with every change of the text, and is removed when it is sent", async () => {
    const { session, saved, load } = openDraft("Hel");
    const composer = createComposerStore();
    const end = storeDraft(composer, session);
    await load();
    expect([composer.get().text, saved]).toEqual(["Hel", []]);
    composer.set({ text: "Hello" });
    composer.set({ agentId: "guide" });
    composer.send(session);
    expect(saved).toEqual(["Hello", ""]);
    end();
    composer.set({ text: "later" });
    expect(saved).toHaveLength(2);
  });

  test("never replaces what the user has written before it was loaded", async () => {
    const { session, load } = openDraft("Old");
    const composer = createComposerStore();
    storeDraft(composer, session);
    composer.set({ text: "New" });
    await load();
    expect(composer.get().text).toBe("New");
  });

  test("moves to the session that was created meanwhile", async () => {
    const before = openDraft();
    const created = openDraft("Old");
    const composer = createComposerStore();
    const end = storeDraft(composer, before.session);
    composer.set({ text: "Next" });
    end();
    storeDraft(composer, created.session);
    await created.load();
    expect([before.saved, created.saved]).toEqual([["Next", ""], ["Next"]]);
    expect(composer.get().text).toBe("Next");
  });
});

test("the agent that the user has chosen answers, not that of the options", () => {
  const { session, sent } = open();
  const composer = createComposerStore({ agentId: "guide" });
  composer.set({ text: "one" });
  composer.send(session);
  composer.set({ text: "two", agentId: "analyst" });
  composer.send(session);
  composer.set({ text: "three" });
  composer.send(session);
  expect(sent).toMatchObject([{ agentId: "guide" }, { agentId: "analyst" }, { agentId: "analyst" }]);
});

test("createExpandedState stores choices by turn and block, and notifies only about them", () => {
  const expanded = createExpandedState();
  let notified = 0;
  const leave = expanded.subscribe("t1", 2, () => notified++);
  expect(expanded.get("t1", 2)).toBeUndefined();
  expanded.set("t1", 2, true);
  expanded.set("t1", 3, true);
  expanded.set("t2", 2, false);
  expect([expanded.get("t1", 2), expanded.get("t2", 2), notified]).toEqual([true, false, 1]);
  leave();
  expanded.set("t1", 2, false);
  expect(notified).toBe(1);
});

const withVerb = (verb: string) => (what: string) => `${verb} ${what}`;

test("watchAnnouncements gives each announcement its own id, and keeps the newest", () => {
  const [log] = LOGS;
  const session = createStaticSession([]);
  const store = createThreadStore(session);
  const strings = {
    started: withVerb("started"),
    needsApproval: withVerb("approve"),
    needsAnswer: withVerb("answer"),
    needsForm: withVerb("fill in"),
    needsPayment: withVerb("pay"),
    paymentChanged: withVerb("payment"),
    done: withVerb("done"),
    stopped: "stopped",
    failed: withVerb("failed"),
  };
  let announced: readonly Announcement[] = [];
  const options = { strings, agentName: String, describeStatus: String, describeError: () => "why" };
  const stop = watchAnnouncements(store, options, (all) => (announced = all));
  for (const event of log?.events ?? []) session.append([event]);
  expect(announced.length).toBeGreaterThan(0);
  expect(announced.map(({ id }) => id)).toEqual(announced.map((_, n) => n + 1));
  const last = announced;
  stop();
  for (const event of LOGS[1]?.events ?? []) session.append([event]);
  expect(announced).toBe(last);
});

test("the field that was bound last gets the focus, and an earlier one again after it is gone", () => {
  const composer = createComposerStore();
  const focused: string[] = [];
  const bind = (name: string) => composer.bindField({ focus: () => void focused.push(name) });
  composer.focus();
  const release = bind("first");
  const releaseSecond = bind("second");
  composer.focus();
  releaseSecond();
  composer.focus();
  release();
  composer.focus();
  expect(focused).toEqual(["second", "first"]);
});

test("the language of a message comes with it", () => {
  const { session, sent } = open();
  const composer = createComposerStore({ agentId: "guide" });
  composer.set({ text: "one" });
  composer.send(session, { locale: "vi" });
  expect(sent).toMatchObject([{ agentId: "guide", locale: "vi" }]);
  expect(composer.options).toEqual({ agentId: "guide" });
});
