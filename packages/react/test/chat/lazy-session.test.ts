/** Tests that a new session is created once, with its first message or file, and that a failure is not lost. */
import { ClientError, type Session } from "@turnstream/client";
import { createStaticSession } from "@turnstream/client/static";
import { expect, test } from "vitest";
import { createLazySession } from "../../src/chat/lazy-session.ts";

const offline = new ClientError("OFFLINE", "There is no connection.", { canRetry: true });

/** A server that creates a session when the test resolves the request. */
function stage() {
  const commands: [name: string, ...args: unknown[]][] = [];
  const created: string[] = [];
  const requests: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  const real: Session = createStaticSession([], {
    id: "s1",
    onCommand(name, args) {
      commands.push([name, ...args]);
      return name === "uploadFile" ? { url: "turnstream:blob/1" } : undefined;
    },
  });
  const session = createLazySession({
    id: "s1",
    drafts: real,
    async create() {
      await new Promise<void>((resolve, reject) => requests.push({ resolve, reject }));
      return real;
    },
    onCreated: (id) => created.push(`${id} with ${real.getSnapshot().outbox.length}`),
  });
  return { session, commands, created, requests };
}

test("nothing is created until the first message, and then everything is sent in order", async () => {
  const { session, commands, created, requests } = stage();
  let notified = 0;
  session.subscribe(() => notified++);
  expect(session.getSnapshot()).toMatchObject({ connection: { phase: "live" }, outbox: [] });
  expect(requests).toHaveLength(0);
  const first = session.send({ text: "one" });
  const second = session.send({ text: "two", agentId: "market" });
  expect(session.getSnapshot().outbox).toMatchObject([
    { text: "one", status: "sending", isOwn: true },
    { text: "two", status: "sending" },
  ]);
  expect(first.id).not.toBe(second.id);
  expect([requests.length, notified]).toEqual([1, 2]);
  requests[0]?.resolve();
  await Promise.all([first.done, second.done]);
  expect(commands).toEqual([
    ["send", { text: "one" }],
    ["send", { text: "two", agentId: "market" }],
  ]);
  // The page shows the created session once the messages are in its outbox.
  expect(created).toEqual(["s1 with 2"]);
  await session.send({ text: "three" }).done;
  expect([requests.length, commands.length]).toEqual([1, 3]);
});

test("a message that could not create the session fails, and is sent again or discarded by the user", async () => {
  const { session, commands, created, requests } = stage();
  const first = session.send({ text: "one" });
  const second = session.send({ text: "two" });
  requests[0]?.reject(offline);
  await expect(first.done).rejects.toBe(offline);
  await expect(second.done).rejects.toBe(offline);
  expect(session.getSnapshot().outbox).toMatchObject([
    { id: first.id, status: "failed", error: offline },
    { id: second.id, status: "failed" },
  ]);
  await session.cancelMessage(second.id);
  session.resendMessage(first.id);
  expect(session.getSnapshot().outbox).toMatchObject([{ id: first.id, status: "sending", error: null }]);
  requests[1]?.resolve();
  await expect.poll(() => created).toEqual(["s1 with 1"]);
  expect(commands).toEqual([["send", { text: "one" }]]);
});

test("a file creates the session too", async () => {
  const { session, commands, created, requests } = stage();
  const file = new Blob(["a"]);
  const upload = session.uploadFile(file, { name: "a.txt" });
  requests[0]?.resolve();
  expect(await upload).toEqual({ url: "turnstream:blob/1" });
  expect(commands).toEqual([["uploadFile", file, { name: "a.txt" }]]);
  expect(created).toEqual(["s1 with 0"]);
});
