/** Tests the stored text of a composer: for one user and session, within its limits, and only after the user is known. */
import { expect, test } from "vitest";
import { createAuth, type Credentials } from "../../src/auth/auth.ts";
import { createIdentity } from "../../src/auth/identity.ts";
import { createEnv } from "../../src/env.ts";
import type { Api } from "../../src/http/api.ts";
import { clearStoredData } from "../../src/outbox/storage.ts";
import { NO_REPORTS } from "../../src/report.ts";
import { MAX_DRAFT_LENGTH, MAX_DRAFTS } from "../../src/session/draft.ts";
import { SessionStore } from "../../src/session/session-store.ts";
import { type SharedStorage, sharedStorage } from "../outbox/stage.ts";
import { FakeTransport } from "./fake-transport.ts";

function tokenOf(sub: string): Credentials {
  const body = Buffer.from(JSON.stringify({ tenant: "acme", sub })).toString("base64url");
  return { token: `e30.${body}.signature` };
}

/** Opens a page of a user, who is known after `signIn`. */
function openPage(storage: SharedStorage, user: string) {
  let now = 1;
  const env = createEnv({ storage: storage.of({}), now: () => now++ });
  const identity = createIdentity("", env.storage);
  const auth = createAuth(
    () => tokenOf(user),
    env,
    (credentials) => identity.update(credentials),
  );
  const api = { auth, report: NO_REPORTS } as unknown as Api;
  const open = (id: string): SessionStore =>
    new SessionStore(id, {
      url: "",
      transport: new FakeTransport(),
      api,
      env,
      identity,
      track: (request) => request,
    });
  return { env, open, signIn: () => auth.get() };
}

async function openSignedIn(storage: SharedStorage, user: string) {
  const page = openPage(storage, user);
  await page.signIn();
  return page;
}

test("a draft is read again after a reload, in its own session only", async () => {
  const storage = sharedStorage();
  const page = await openSignedIn(storage, "an");
  page.open("s1").saveDraft("Buy 100\nif it is cheap ");
  const reloaded = await openSignedIn(storage, "an");
  expect(await reloaded.open("s1").loadDraft()).toBe("Buy 100\nif it is cheap ");
  expect(await reloaded.open("s2").loadDraft()).toBe("");
  reloaded.open("s1").saveDraft("");
  expect(await (await openSignedIn(storage, "an")).open("s1").loadDraft()).toBe("");
});

test("another user doesn't see it, not even as the remembered user of the browser", async () => {
  const storage = sharedStorage();
  (await openSignedIn(storage, "an")).open("s1").saveDraft("of An");
  const other = openPage(storage, "binh");
  // Nothing is shown or stored before a token names the user.
  const early = other.open("s1").loadDraft();
  other.open("s1").saveDraft("of Binh, too early");
  await other.signIn();
  expect(await early).toBe("");
  expect(await other.open("s1").loadDraft()).toBe("");
  other.open("s1").saveDraft("of Binh");
  expect(await (await openSignedIn(storage, "an")).open("s1").loadDraft()).toBe("of An");
});

test("a text that is too long is not stored, and the oldest of many drafts is removed", async () => {
  const { env, open } = await openSignedIn(sharedStorage(), "an");
  open("s0").saveDraft("short");
  open("s0").saveDraft("x".repeat(MAX_DRAFT_LENGTH + 1));
  expect(await open("s0").loadDraft()).toBe("");
  for (let n = 1; n <= MAX_DRAFTS + 2; n++) open(`s${n}`).saveDraft(`draft ${n}`);
  expect(await open("s2").loadDraft()).toBe("");
  expect(await open("s3").loadDraft()).toBe("draft 3");
  expect(await open(`s${MAX_DRAFTS + 2}`).loadDraft()).toBe(`draft ${MAX_DRAFTS + 2}`);
  clearStoredData(env.storage);
  expect(await open("s3").loadDraft()).toBe("");
});

const fail = (): never => {
  throw new Error("forbidden");
};

test("a forbidden storage stores nothing and throws nothing", async () => {
  const storage = { getItem: fail, setItem: fail, removeItem: fail, key: fail, length: 0 };
  const page = await openSignedIn({ of: () => storage } as unknown as SharedStorage, "an");
  const session = page.open("s1");
  expect(await session.loadDraft()).toBe("");
  session.saveDraft("text");
  expect(await session.loadDraft()).toBe("");
});
