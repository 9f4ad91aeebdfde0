/** Tests loading a session of sixty turns from a real gateway: first the window, then older turns page by page. */
import { expect, test } from "vitest";
import { LiveGateway, isLive, isOver, until } from "./live-gateway.ts";

test("the window and the older turns, loaded page by page, make the whole session", async () => {
  const gateway = await LiveGateway.open({ limits: { snapshotTurns: 10 } });
  const ref = await gateway.stage.session();
  for (let n = 0; n < 60; n++) await gateway.stage.ask(ref, `question ${n}`);
  const session = gateway.client().session(ref.session);
  session.subscribe(() => {});
  const first = await until(session, "live", isLive);
  expect(first.state.turns.length).toBe(10);
  expect(first.history).toEqual({ hasMore: true, isLoading: false, error: null });
  const both = [session.loadMore(), session.loadMore()];
  expect(session.getSnapshot().history.isLoading).toBe(true);
  await Promise.all(both);
  expect(session.getSnapshot().state.turns.length).toBe(30);
  // A new turn moves the window while history is being loaded.
  session.send({ text: "one more" });
  await until(session, "answered", isOver("one more"));
  while (session.getSnapshot().history.hasMore) await session.loadMore();
  const { state } = session.getSnapshot();
  expect(state).toEqual(await gateway.stage.state(ref));
  expect(state.turns.length).toBe(61);
  // `loadMore` without more history does nothing.
  await session.loadMore();
  expect(session.getSnapshot().state).toBe(state);
  await session.refresh();
  // Only the window is left. The gateway drops the turn that left its window with the next event, which may come later.
  expect([10, 11]).toContain(session.getSnapshot().state.turns.length);
});

test("a failed load is reported in `history.error` and can be retried", async () => {
  const gateway = await LiveGateway.open({ limits: { snapshotTurns: 1 } });
  const ref = await gateway.stage.session();
  for (let n = 0; n < 3; n++) await gateway.stage.ask(ref, `question ${n}`);
  let isBroken = true;
  const session = gateway
    .client({
      env: {
        fetch: (input, init) =>
          isBroken && addressOf(input).includes("/turns?")
            ? Promise.reject(new TypeError("no"))
            : fetch(input, init),
      },
    })
    .session(ref.session);
  session.subscribe(() => {});
  await until(session, "live", isLive);
  await expect(session.loadMore()).rejects.toMatchObject({ code: "OFFLINE" });
  expect(session.getSnapshot().history).toMatchObject({ hasMore: true, error: { code: "OFFLINE" } });
  isBroken = false;
  await session.loadMore();
  expect(session.getSnapshot().history).toEqual({ hasMore: false, isLoading: false, error: null });
  expect(session.getSnapshot().state).toEqual(await gateway.stage.state(ref));
});

function addressOf(input: string | URL | Request): string {
  return input instanceof Request ? input.url : String(input);
}
