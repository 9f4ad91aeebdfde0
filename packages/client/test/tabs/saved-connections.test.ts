/**
 * Tests what sharing saves: the connections and bytes of five tabs that show the same answer of a real gateway. The tabs
 * use the locks and broadcast channels of Node. docs/client.md has the figures.
 */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
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

async function measure(options: Partial<ClientOptions>) {
  const gateway = await LiveGateway.open();
  const token = await gateway.token();
  const ref = await gateway.stage.session();
  const sessions = [];
  for (let n = 0; n < TABS; n += 1) {
    const client = gateway.client({ ...options, auth: () => ({ token }), env: { storage: null } });
    const session = client.session(ref.session);
    session.subscribe(() => {});
    await until(session, "live", isLive);
    sessions.push(session);
  }
  const before = gateway.proxy.counters();
  sessions[0]?.send({ text: "long" });
  for (const session of sessions) {
    const { state } = await until(session, "answered", isOver("long"));
    expect(state).toEqual(await gateway.stage.state(ref));
  }
  const { bytes } = gateway.proxy.counters();
  return { connections: before.open, bytes: bytes.toClient - before.bytes.toClient };
}

test("five tabs share one socket, and the answer is transferred once instead of five times", async () => {
  const alone = await measure({});
  const shared = await measure({ tabs: shareTabs });
  expect(alone.connections - shared.connections).toBe(TABS - 1);
  // Not exactly five: the gateway packs a different number of events into each frame.
  expect(alone.bytes / shared.bytes).toBeGreaterThan(TABS - 1);
});
