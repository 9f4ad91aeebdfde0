/** Whose a session's outbox is: before a token says who is there, and when somebody else signs in. */
import { emptyState, type SessionEvent, foldAll, snapshot } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { createAuth } from "../../src/auth/auth.ts";
import { createPerson } from "../../src/auth/identity.ts";
import { surroundings } from "../../src/env.ts";
import type { Api } from "../../src/http/api.ts";
import type { Credentials } from "../../src/auth/auth.ts";
import { LiveSession } from "../../src/session/session-store.ts";
import { type SharedStorage, sharedStorage } from "../outbox/stage.ts";
import { FakeLink } from "./fake-transport.ts";

const live = { phase: "live", wire: "socket", failures: 0, retryAt: null, error: null } as const;
const LOG = [
  { v: 2, id: "1-1", at: 0, type: "session.start", session: "s", number: 1 } as unknown as SessionEvent,
];

function tokenOf(sub: string): Credentials {
  const body = Buffer.from(JSON.stringify({ tenant: "acme", sub })).toString("base64url");
  return { token: `e30.${body}.signature` };
}

/** A page that is opened; whoever `signIn`s is the answer to all who ask for credentials. */
function openPage(storage: SharedStorage) {
  const tab = {};
  const env = surroundings({ storage: storage.of(tab) });
  const link = new FakeLink();
  const person = createPerson("", env.storage);
  let answer: ((credentials: Credentials) => void) | undefined;
  const ask = () => new Promise<Credentials>((resolve) => (answer = resolve));
  const auth = createAuth(ask, env, (credentials) => person.known(credentials));
  const session = new LiveSession("s", { url: "", link, api: { auth } as unknown as Api, env, person });
  person.onChange((isAnother) => session.personChanged(isAnother)());
  const signIn = async (sub: string): Promise<void> => {
    if (auth.known !== null) auth.refused(auth.known);
    const got = auth.get();
    answer?.(tokenOf(sub));
    await got;
    for (let n = 0; n < 5; n += 1) await Promise.resolve();
  };
  const texts = (): string[] => session.getSnapshot().outbox.map(({ text }) => text);
  const sent = (): unknown[] => link.commands.map((command) => "text" in command && command.text);
  return { link, session, signIn, texts, sent };
}

test("what is written before anybody is known is kept once somebody is, and so is what follows", async () => {
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

test("what the next person writes before their token is there is theirs, and not of who was here before", async () => {
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
  next.link.handler?.connection(live);
  await done;
  expect(next.sent()).toEqual(["of Binh"]);
  next.session.close();
  const again = openPage(storage);
  await again.signIn("an");
  expect(again.texts()).toEqual(["of An"]);
  again.session.close();
});

test("what somebody left behind isn't sent by a request that finds out who is there", async () => {
  const storage = sharedStorage();
  const first = openPage(storage);
  await first.signIn("an");
  first.session.subscribe(() => {});
  first.session.send({ text: "of An" });
  first.session.close();
  const next = openPage(storage);
  // With nobody looking it goes by HTTP, at once.
  next.session.send({ text: "of Binh" });
  await next.signIn("binh");
  await expect.poll(next.sent).toEqual(["of Binh"]);
  next.session.close();
});

test("once somebody else is signed in, nothing of the one before is shown, sent, or gone on with", async () => {
  const page = openPage(sharedStorage());
  await page.signIn("an");
  page.session.subscribe(() => {});
  page.link.handler?.begun({ resumed: false, reason: "fresh" });
  page.link.handler?.snapshot(snapshot(foldAll(LOG)), "1-1");
  const { done } = page.session.send({ text: "of An" });
  await page.signIn("binh");
  await expect(done).rejects.toMatchObject({ code: "ABORTED" });
  expect(page.session.getSnapshot()).toMatchObject({ state: emptyState, outbox: [] });
  // Left, and begun anew from nothing.
  expect([page.link.stops, page.link.watches, page.link.cursor()]).toEqual([1, 2, null]);
  page.link.handler?.connection(live);
  expect(page.sent()).toEqual([]);
  await page.signIn("an");
  expect(page.texts()).toEqual(["of An"]);
  page.session.close();
});
