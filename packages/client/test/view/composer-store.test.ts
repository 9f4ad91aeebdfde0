/** Tests `createComposerStore`, `createExpandedState` and `watchAnnouncements`, as a page without a framework uses them. */
import { describe, expect, test } from "vitest";
import type { UploadedFile, UploadOptions } from "../../src/session/session.ts";
import { createStaticSession } from "../../src/static-session.ts";
import { createComposerStore } from "../../src/view/composer-store.ts";
import { createExpandedState } from "../../src/view/expanded-state.ts";
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
    let changes = 0;
    composer.subscribe(() => changes++);
    expect(composer.send(session)).toBe(false);
    composer.set({ text: "Hello" });
    composer.attach(session, [file("a.pdf")]);
    expect(composer.send(session)).toBe(false);
    uploads[0]?.options.onProgress?.(1, 2);
    expect(composer.get().files).toMatchObject([{ name: "a.pdf", status: "uploading", sentBytes: 1 }]);
    uploads[0]?.done(uploaded as UploadedFile);
    await turns();
    expect(composer.send(session)).toBe(true);
    expect(composer.get()).toEqual({ text: "", files: [] });
    expect(sent).toEqual([
      { text: "Hello", files: [uploaded], agentId: "guide", mode: "chat", locale: "vi" },
    ]);
    expect(changes).toBe(5);
  });

  test("a removed file and a closed composer abort their uploads, and a failed upload blocks the message", async () => {
    const { session, uploads } = open();
    const composer = createComposerStore({ accept: ".pdf" });
    composer.attach(session, [file("a.pdf"), file("b.txt"), file("c.pdf"), file("d.pdf")]);
    expect(composer.get().files.map(({ name }) => name)).toEqual(["a.pdf", "c.pdf", "d.pdf"]);
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

const say = (verb: string) => (what: string) => `${verb} ${what}`;

test("watchAnnouncements gives each announcement its own id, and keeps the newest", () => {
  const [log] = LOGS;
  const session = createStaticSession([]);
  const store = createThreadStore(session);
  const strings = {
    started: say("started"),
    needsApproval: say("approve"),
    needsAnswer: say("answer"),
    needsForm: say("fill in"),
    needsPayment: say("pay"),
    paymentChanged: say("payment"),
    done: say("done"),
    stopped: "stopped",
    failed: say("failed"),
  };
  let heard: readonly Announcement[] = [];
  const options = { strings, agentName: String, describeStatus: String, describeError: () => "why" };
  const stop = watchAnnouncements(store, options, (all) => (heard = all));
  for (const event of log?.events ?? []) session.append([event]);
  expect(heard.length).toBeGreaterThan(0);
  expect(heard.map(({ id }) => id)).toEqual(heard.map((_, n) => n + 1));
  const last = heard;
  stop();
  for (const event of LOGS[1]?.events ?? []) session.append([event]);
  expect(heard).toBe(last);
});
