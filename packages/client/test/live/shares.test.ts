/** Tests links to sessions against a real gateway: create, list, revoke, open, page back, and fork. */
import { expect, test } from "vitest";
import { createClient } from "../../src/client.ts";
import { LiveGateway, isOver, until } from "./live-gateway.ts";

/** A client of another user of the same tenant. */
function asReader(gateway: LiveGateway) {
  return gateway.client({ auth: () => ({ headers: { ...gateway.server.auth, "x-user-id": "reader" } }) });
}

test("H07 a link is created, listed, opened, forked and revoked", async () => {
  const gateway = await LiveGateway.open();
  const ref = await gateway.stage.session();
  await gateway.stage.ask(ref, "one");
  const owner = gateway.client();
  const share = await owner.share(ref.session, { expiresInSeconds: 3_600 });
  expect(share).toMatchObject({ sessionId: ref.session });
  expect((share.expiresAt ?? 0) - share.createdAt).toBeGreaterThanOrEqual(3_600_000);
  const forever = await owner.share(ref.session);
  expect(forever.expiresAt).toBeNull();
  await gateway.stage.ask(ref, "later");

  const listed = await owner.listShares({ sessionId: ref.session, limit: 1 });
  expect(listed.shares).toEqual([{ ...forever, title: null }]);
  const next = await owner.listShares({ limit: 1, before: listed.nextBefore ?? "" });
  expect(next).toEqual({ shares: [{ ...share, title: null }], nextBefore: null });
  const reader = asReader(gateway);
  expect(await reader.listShares()).toEqual({ shares: [], nextBefore: null });
  await expect(reader.revokeShare(share)).rejects.toMatchObject({ code: "NOT_FOUND" });

  const fork = await reader.fork(share.token);
  expect(fork.forkedFromShare).toBe(true);
  expect((await owner.createSession()).forkedFromShare).toBe(false);
  const session = reader.session(fork.id);
  session.subscribe(() => {});
  session.send({ text: "mine" });
  const { state } = await until(session, "answered", isOver("mine"));
  expect(state.turns.toArray().map(({ message }) => message?.text)).toEqual(["one", "mine"]);
  expect(state.turns.toArray().map(({ from_share }) => from_share)).toEqual([false, true]);

  await owner.revokeShare(share);
  await expect(owner.openShare(share.token)).rejects.toMatchObject({
    name: "ClientError",
    code: "NOT_FOUND",
  });
  await expect(reader.fork(share.token)).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect((await owner.listShares()).shares.map(({ id }) => id)).toEqual([forever.id]);
});

test("H07 a shared session is read without credentials, page by page, and never changes", async () => {
  const gateway = await LiveGateway.open();
  const ref = await gateway.stage.session();
  for (let n = 0; n < 45; n++) await gateway.stage.ask(ref, `question ${n}`);
  const { token } = await gateway.client().share(ref.session);
  const whole = await gateway.stage.state(ref);
  await gateway.stage.ask(ref, "later");
  const sent: Headers[] = [];
  let isBroken = false;
  const anonymous = createClient({
    url: gateway.url,
    auth: () => Promise.reject(new Error("a reader is not asked for credentials")),
    env: {
      fetch: (input, init) => {
        sent.push(new Headers(init?.headers));
        return isBroken ? Promise.reject(new TypeError("no")) : fetch(input, init);
      },
    },
  });
  const { session, expiresAt } = await anonymous.openShare(token);
  expect(expiresAt).toBeNull();
  const ids = () =>
    session
      .getSnapshot()
      .state.turns.toArray()
      .map(({ id }) => id);
  expect(ids()).toHaveLength(20);
  isBroken = true;
  await expect(session.loadMore()).rejects.toMatchObject({ code: "OFFLINE" });
  expect(session.getSnapshot().history).toMatchObject({ hasMore: true, error: { code: "OFFLINE" } });
  isBroken = false;
  const both = [session.loadMore(), session.loadMore()];
  expect(session.getSnapshot().history.isLoading).toBe(true);
  await Promise.all(both);
  expect(ids()).toHaveLength(40);
  await session.loadMore();
  expect(session.getSnapshot().history).toEqual({ hasMore: false, isLoading: false, error: null });
  expect(ids()).toEqual(whole.turns.toArray().map(({ id }) => id));
  const before = session.getSnapshot();
  await session.loadMore();
  for (const refused of [session.stop(), session.retry(ids()[0] ?? ""), session.send({ text: "no" }).done])
    await expect(refused).rejects.toMatchObject({ code: "FORBIDDEN" });
  expect(session.getSnapshot()).toBe(before);
  expect(sent.length).toBeGreaterThan(3);
  for (const headers of sent)
    expect([...headers.keys()].filter((name) => /auth|key|user/.test(name))).toEqual([]);
  anonymous.close();
});
