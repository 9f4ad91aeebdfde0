/** What is asked of a link before its code is there. */
import { expect, test } from "vitest";
import type { Link, LinkHandler } from "../../src/transport/transport.ts";
import { laterLink } from "../../src/tabs/shared-transport.ts";
import { FakeOutside } from "../live/fast-env.ts";

function parts() {
  const told: string[] = [];
  const link: Link = {
    watch: (session) => {
      told.push(`watch ${session}`);
      return { again: () => told.push(`again ${session}`), stop: () => told.push(`stop ${session}`) };
    },
    command: async ({ type }) => {
      told.push(type);
      return {};
    },
    request: () => Promise.reject(new Error("not asked")),
    close: () => told.push("close"),
  };
  const shared = laterLink({
    // Nobody to share with: it goes alone once it is there.
    name: () => Promise.resolve(null),
    makeLink: () => link,
    request: (path, init) => link.request(path, init),
    tabs: { openChannel: () => ({ post() {}, close() {} }), requestLock: () => ({ release() {} }) },
    page: { isVisible: () => true, listen: () => () => {} },
    env: {
      now: () => 0,
      random: () => 0,
      id: () => "me",
      setTimer: () => () => {},
      outside: new FakeOutside(),
    },
  });
  return { told, shared };
}

const handler = {} as LinkHandler;

test("is done once it is there, but for what was left meanwhile", async () => {
  const { told, shared } = parts();
  const one = shared.watch("one", () => null, handler);
  shared.watch("two", () => null, handler).stop();
  expect(told).toEqual([]);
  await shared.command({ type: "stop", session_id: "one" });
  expect(told).toEqual(["watch one", "stop"]);
  one.again();
  one.stop();
  shared.close();
  expect(told).toEqual(["watch one", "stop", "again one", "stop one", "close"]);
});

test("is refused once the client is closed, and nothing stays open", async () => {
  const { told, shared } = parts();
  shared.watch("one", () => null, handler);
  const asked = shared.command({ type: "stop", session_id: "one" });
  shared.close();
  await expect(asked).rejects.toMatchObject({ code: "OFFLINE" });
  await expect.poll(() => told.filter((what) => what === "watch one")).toEqual([]);
});
