/** Tests `createLazyTransport`: calls before the code of the transport is loaded. */
import { expect, test } from "vitest";
import type { Transport, SubscriptionHandler } from "../../src/transport/transport.ts";
import { NO_REPORTS } from "../../src/report.ts";
import { createLazyTransport } from "../../src/tabs/share-tabs.ts";
import { FakePageEnv } from "../live/fast-env.ts";

function openShared() {
  const calls: string[] = [];
  const transport: Transport = {
    subscribe: (session) => {
      calls.push(`watch ${session}`);
      return {
        resync: () => calls.push(`again ${session}`),
        unsubscribe: () => calls.push(`stop ${session}`),
      };
    },
    command: async ({ type }) => {
      calls.push(type);
      return {};
    },
    request: () => Promise.reject(new Error("not asked")),
    close: () => calls.push("close"),
  };
  const shared = createLazyTransport({
    // Without a channel name the tab shares with no other tab, so it connects alone once the code is loaded.
    getChannelName: () => Promise.resolve(null),
    createTransport: () => transport,
    request: (path, init) => transport.request(path, init),
    report: NO_REPORTS,
    tabs: { openChannel: () => ({ post() {}, close() {} }), requestLock: () => ({ release() {} }) },
    lifecycle: { isVisible: () => true, listen: () => () => {} },
    env: {
      now: () => 0,
      random: () => 0,
      createId: () => "me",
      setTimer: () => () => {},
      page: new FakePageEnv(),
    },
  });
  return { calls, shared };
}

const handler = {} as SubscriptionHandler;

test("runs calls once the code is loaded, except subscriptions that ended before", async () => {
  const { calls, shared } = openShared();
  const first = shared.subscribe("one", () => null, handler);
  shared.subscribe("two", () => null, handler).unsubscribe();
  expect(calls).toEqual([]);
  await shared.command({ type: "stop", session_id: "one" });
  expect(calls).toEqual(["watch one", "stop"]);
  first.resync();
  first.unsubscribe();
  shared.close();
  expect(calls).toEqual(["watch one", "stop", "again one", "stop one", "close"]);
});

test("rejects commands after the client is closed, and leaves nothing open", async () => {
  const { calls, shared } = openShared();
  shared.subscribe("one", () => null, handler);
  const command = shared.command({ type: "stop", session_id: "one" });
  shared.close();
  await expect(command).rejects.toMatchObject({ code: "OFFLINE" });
  await expect.poll(() => calls.filter((what) => what === "watch one")).toEqual([]);
});
