/**
 * Tests what sharing saves: the connections and bytes of five tabs that show the same answer of a real gateway. The tabs
 * use the locks and broadcast channels of Node. docs/client.md has the figures.
 */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { SessionRef } from "../../../server/src/util/refs.ts";
import type { Session } from "../../src/session/session.ts";
import { shareTabs } from "../../src/tabs/share-tabs.ts";
import type { ClientOptions } from "../../src/options.ts";
import { isLive, isOver, LiveGateway, until } from "../live/live-gateway.ts";

const TABS = 5;

beforeAll(() => {
  const target = { addEventListener() {}, removeEventListener() {} };
  vi.stubGlobal("document", { visibilityState: "visible", ...target });
  for (const [name, value] of Object.entries(target)) vi.stubGlobal(name, value);
});
afterAll(() => void vi.unstubAllGlobals());

/** Opens the session in five tabs behind a proxy that counts their bytes. */
async function openTabs(gateway: LiveGateway, ref: SessionRef, options: Partial<ClientOptions>) {
  const proxy = await gateway.openProxy();
  const token = await gateway.token();
  const sessions: Session[] = [];
  for (let n = 0; n < TABS; n += 1) {
    const url = `http://${proxy.host}:${proxy.port}`;
    const client = gateway.client({ ...options, url, auth: () => ({ token }), env: { storage: null } });
    const session = client.session(ref.session);
    session.subscribe(() => {});
    await until(session, "live", isLive);
    sessions.push(session);
  }
  const { open, bytes } = proxy.counters();
  return { sessions, connections: open, readBytes: () => proxy.counters().bytes.toClient - bytes.toClient };
}

test("five tabs share one socket, and the answer is transferred once instead of five times", async () => {
  const gateway = await LiveGateway.open();
  const ref = await gateway.stage.session();
  // Both follow the same turn, because the number of its events depends on the speed of the machine.
  const alone = await openTabs(gateway, ref, {});
  const shared = await openTabs(gateway, ref, { tabs: shareTabs });
  gateway.client().session(ref.session).send({ text: "long" });
  for (const session of [...alone.sessions, ...shared.sessions]) {
    const { state } = await until(session, "answered", isOver("long"));
    expect(state).toEqual(await gateway.stage.state(ref));
  }
  expect(alone.connections - shared.connections).toBe(TABS - 1);
  // Not always exactly five: a slow connection gets its events in fewer frames.
  expect(alone.readBytes() / shared.readBytes()).toBeGreaterThan(TABS - 1);
});
