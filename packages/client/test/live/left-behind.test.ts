/** Tests messages written offline in a session that the page doesn't show after it is opened again. */
import { expect, test } from "vitest";
import { sharedStorage } from "../outbox/stage.ts";
import { FakePageEnv, shortWaits } from "./fast-env.ts";
import { LiveGateway, isLive, until } from "./live-gateway.ts";

async function writtenOffline() {
  const gateway = await LiveGateway.open();
  const [written, shown] = [await gateway.stage.session(), await gateway.stage.session()];
  const storage = sharedStorage();
  const page = new FakePageEnv();
  page.become({ isOnline: false });
  const client = (user: string, wasOffline: boolean) =>
    gateway.client({
      env: { ...shortWaits, storage: storage.of({}), ...(wasOffline ? { page } : {}) },
      auth: async () => ({ token: await gateway.token({ user }) }),
    });
  const { user } = gateway.stage.actor;
  const before = client(user, true);
  // The user was known before the network was lost.
  await before.listSessions();
  for (const text of ["one", "two"]) before.session(written.session).send({ text });
  before.close();
  expect(storage.entries.size).toBe(3);
  return { gateway, written, shown, storage, client, user };
}

test("unsent messages of another session are sent once and in order, and then removed from the storage", async () => {
  const { gateway, written, shown, storage, client, user } = await writtenOffline();
  const session = client(user, false).session(shown.session);
  session.subscribe(() => {});
  await until(session, "live", isLive);
  const outcome = async () =>
    (await gateway.stage.state(written)).turns.toArray().map(({ message }) => message?.text);
  await expect.poll(outcome, { timeout: 60_000 }).toEqual(["one", "two"]);
  // Only the name of the user stays in the storage.
  await expect.poll(() => storage.entries.size, { timeout: 60_000 }).toBe(1);
});

test("unsent messages are not sent for another user", async () => {
  const { gateway, written, storage, client, user } = await writtenOffline();
  const other = client(`${user} s-1`, false);
  const own = other.session((await other.createSession()).id);
  own.subscribe(() => {});
  await until(own, "live", isLive);
  expect(storage.entries.size).toBe(3);
  expect((await gateway.stage.state(written)).turns.toArray()).toEqual([]);
});
