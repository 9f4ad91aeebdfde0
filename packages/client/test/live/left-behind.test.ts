/** Messages that were written without a network, in a session that the page doesn't show when it is opened again. */
import { expect, test } from "vitest";
import { sharedStorage } from "../outbox/stage.ts";
import { FakeOutside, hasty } from "./fast-env.ts";
import { House, isLive, until } from "./live-gateway.ts";

async function writtenOffline() {
  const house = await House.open();
  const [written, shown] = [await house.stage.session(), await house.stage.session()];
  const storage = sharedStorage();
  const outside = new FakeOutside();
  outside.become({ isOnline: false });
  const client = (user: string, wasOffline: boolean) =>
    house.client({
      env: { ...hasty, storage: storage.of({}), ...(wasOffline ? { outside } : {}) },
      auth: async () => ({ token: await house.token({ user }) }),
    });
  const { user } = house.stage.actor;
  const before = client(user, true);
  // Who is signed in was known before the network went.
  await before.sessions();
  for (const text of ["one", "two"]) before.session(written.session).send({ text });
  before.close();
  expect(storage.entries.size).toBe(3);
  return { house, written, shown, storage, client, user };
}

test("are sent all the same, once and in their order, and nothing stays open for it", async () => {
  const { house, written, shown, storage, client, user } = await writtenOffline();
  const session = client(user, false).session(shown.session);
  session.subscribe(() => {});
  await until(session, "live", isLive);
  const said = async () =>
    (await house.stage.state(written)).turns.toArray().map(({ message }) => message?.text);
  await expect.poll(said, { timeout: 30_000 }).toEqual(["one", "two"]);
  // Only who was signed in is remembered.
  await expect.poll(() => storage.entries.size, { timeout: 30_000 }).toBe(1);
});

test("are not sent for somebody else", async () => {
  const { house, written, storage, client, user } = await writtenOffline();
  const other = client(`${user} s-1`, false);
  const own = other.session((await other.createSession()).id);
  own.subscribe(() => {});
  await until(own, "live", isLive);
  expect(storage.entries.size).toBe(3);
  expect((await house.stage.state(written)).turns.toArray()).toEqual([]);
});
