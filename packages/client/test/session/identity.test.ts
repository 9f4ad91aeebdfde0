/** Tests which user a session's outbox belongs to: before a token names the user, and after another user signs in. */
import { emptyState, type SessionEvent, foldAll, snapshot } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { createAuth, type Credentials } from "../../src/auth/auth.ts";
import { createIdentity } from "../../src/auth/identity.ts";
import { createEnv } from "../../src/env.ts";
import { NO_REPORTS } from "../../src/report.ts";
import type { Api } from "../../src/http/api.ts";
import { SessionStore } from "../../src/session/session-store.ts";
import { type SharedStorage, sharedStorage } from "../outbox/stage.ts";
import { FakeTransport } from "./fake-transport.ts";

const live = {
  phase: "live",
  channel: "websocket",
  failures: 0,
  retryAt: null,
  error: null,
  stalled: null,
} as const;
const LOG = [
  { v: 1, id: "1-1", at: 0, type: "session.start", session: "s", number: 1 } as unknown as SessionEvent,
];

function tokenOf(sub: string): Credentials {
  const body = Buffer.from(JSON.stringify({ tenant: "acme", sub })).toString("base64url");
  return { token: `e30.${body}.signature` };
}

/** Opens a page. Requests for credentials wait until `signIn` returns a token of its user to all of them. */
function openPage(storage: SharedStorage) {
  const tab = {};
  const env = createEnv({ storage: storage.of(tab) });
  const transport = new FakeTransport();
  const identity = createIdentity("", env.storage);
  let answer: ((credentials: Credentials) => void) | undefined;
  const ask = () => new Promise<Credentials>((resolve) => (answer = resolve));
  const auth = createAuth(ask, env, (credentials) => identity.update(credentials));
  const session = new SessionStore("s", {
    url: "",
    transport,
    api: { auth, report: NO_REPORTS } as unknown as Api,
    env,
    identity,
    track: (request) => request,
  });
  identity.onChange((isAnother) => session.onIdentityChange(isAnother)());
  const signIn = async (sub: string): Promise<void> => {
    if (auth.current !== null) auth.reject(auth.current);
    const got = auth.get();
    answer?.(tokenOf(sub));
    await got;
    for (let n = 0; n < 5; n += 1) await Promise.resolve();
  };
  const texts = (): string[] => session.getSnapshot().outbox.map(({ text }) => text);
  const sent = (): unknown[] => transport.commands.map((command) => "text" in command && command.text);
  return { transport, session, signIn, texts, sent };
}

test("messages written before and after the user is known stay in that user's outbox", async () => {
  const storage = sharedStorage();
  const page = openPage(storage);
  page.session.subscribe(() => {});
  page.session.send({ text: "one" });
  await page.signIn("an");
  page.session.send({ text: "two" });
  page.session.close();
  const after = openPage(storage);
  expect(after.texts()).toEqual(["one", "two"]);
  after.session.close();
});

test("a message that the next user writes before their token arrives belongs to the next user", async () => {
  const storage = sharedStorage();
  const first = openPage(storage);
  await first.signIn("an");
  first.session.subscribe(() => {});
  first.session.send({ text: "of An" });
  first.session.close();
  const next = openPage(storage);
  next.session.subscribe(() => {});
  const { done } = next.session.send({ text: "of Binh" });
  await next.signIn("binh");
  expect(next.texts()).toEqual(["of Binh"]);
  next.transport.handler?.onConnection(live);
  await done;
  expect(next.sent()).toEqual(["of Binh"]);
  next.session.close();
  const again = openPage(storage);
  await again.signIn("an");
  expect(again.texts()).toEqual(["of An"]);
  again.session.close();
});

test("unsent messages of the previous user are not sent when a request reveals the next user", async () => {
  const storage = sharedStorage();
  const first = openPage(storage);
  await first.signIn("an");
  first.session.subscribe(() => {});
  first.session.send({ text: "of An" });
  first.session.close();
  const next = openPage(storage);
  // Without a subscriber, the message is sent immediately by HTTP.
  next.session.send({ text: "of Binh" });
  await next.signIn("binh");
  await expect.poll(next.sent).toEqual(["of Binh"]);
  next.session.close();
});

test("after another user signs in, nothing of the previous user is shown, sent or resumed", async () => {
  const page = openPage(sharedStorage());
  await page.signIn("an");
  page.session.subscribe(() => {});
  page.transport.handler?.onSubscribed({ resumed: false, reason: "fresh" });
  page.transport.handler?.onSnapshot(snapshot(foldAll(LOG)), "1-1");
  const { done } = page.session.send({ text: "of An" });
  await page.signIn("binh");
  await expect(done).rejects.toMatchObject({ code: "ABORTED" });
  expect(page.session.getSnapshot()).toMatchObject({ state: emptyState, outbox: [] });
  // The store unsubscribes, and subscribes again without a cursor.
  expect([page.transport.unsubscribes, page.transport.subscribes, page.transport.cursor()]).toEqual([
    1,
    2,
    null,
  ]);
  page.transport.handler?.onConnection(live);
  expect(page.sent()).toEqual([]);
  await page.signIn("an");
  expect(page.texts()).toEqual(["of An"]);
  page.session.close();
});
