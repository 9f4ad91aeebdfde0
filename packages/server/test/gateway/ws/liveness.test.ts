/**
 * Tests heartbeats and the limit of 180 seconds: on a fake clock with the real limits, and on real links that go
 * silent.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import fc from "fast-check";
import { startProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { afterEach, describe, expect, test } from "vitest";
import { createGateway } from "../../../src/gateway/gateway.ts";
import { DEFAULT_GATEWAY_LIMITS } from "../../../src/gateway/gateway-limits.ts";
import { checkLiveness } from "../../../src/gateway/ws/liveness.ts";
import { hasTimedOut } from "../../../src/gateway/sse/session-stream.ts";
import { SocketClient } from "../clients.ts";
import { openServer, type TestServer } from "../test-server.ts";

const { pingIntervalMs, pongTimeoutMs, heartbeatMs, turnIdleTimeoutMs, sseKeepAliveMs } =
  DEFAULT_GATEWAY_LIMITS;

/** Simulates late heartbeats of a socket until it is closed. @returns the time of that, and the times of the pings */
function simulate(
  lateness: readonly number[],
  bytesAt: readonly number[],
  answersAfter: number | null,
): { readonly dead: number; readonly pings: readonly number[] } {
  let receivedAt = 0;
  let pingedAt: number | null = null;
  const pings: number[] = [];
  const bytes = [...bytesAt];
  for (let beat = 1; ; beat++) {
    const now = beat * heartbeatMs + (lateness[beat % lateness.length] ?? 0);
    if (now > 600_000) return { dead: Infinity, pings };
    if (bytes.some((at) => at <= now)) {
      for (let n = bytes.length - 1; n >= 0; n--) if ((bytes[n] as number) <= now) bytes.splice(n, 1);
      [receivedAt, pingedAt] = [now, null];
    }
    const liveness = checkLiveness({ receivedAt, pingedAt }, now, {
      pingIntervalMs: pingIntervalMs,
      pongTimeoutMs: pongTimeoutMs,
      heartbeatMs: heartbeatMs,
    });
    if (liveness === "dead") return { dead: now, pings };
    if (liveness === "ping") {
      pingedAt = now;
      pings.push(now);
      if (answersAfter !== null) bytes.push(now + answersAfter);
    }
  }
}

describe("socket (reliability 12)", () => {
  const late = fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 1, maxLength: 30 });

  test("that is dead is closed within 35 s of its last sign of life, and never before it could have answered", () => {
    fc.assert(
      fc.property(
        late,
        fc.array(fc.integer({ min: 0, max: 120_000 }), { maxLength: 20 }),
        (lateness, signs) => {
          const last = Math.max(0, ...signs);
          const { dead, pings } = simulate(lateness, signs, null);
          expect(dead - last).toBeLessThanOrEqual(35_000);
          expect(dead - (pings.at(-1) ?? Infinity)).toBeGreaterThanOrEqual(pongTimeoutMs);
        },
      ),
    );
  });

  test("that answers in time is never closed, and is pinged at least every 25 s", () => {
    fc.assert(
      fc.property(late, fc.integer({ min: 0, max: 8_000 }), (lateness, answersAfter) => {
        const { dead, pings } = simulate(lateness, [], answersAfter);
        expect(dead).toBe(Infinity);
        for (const [n, at] of pings.entries())
          expect(at - ((pings[n - 1] ?? -answersAfter) + answersAfter)).toBeLessThanOrEqual(pingIntervalMs);
      }),
    );
  });
});

/**
 * Simulates the events of a turn, times in which it waits for the user, and a heartbeat each second. @returns when the
 * stream ends
 */
function ended(
  events: readonly number[],
  waits: readonly (readonly [number, number])[],
  openedAt = 0,
): number {
  for (let now = openedAt; now <= 1_000_000; now += heartbeatMs) {
    const isWaiting = waits.some(([from, to]) => now >= from && now < to);
    const last = Math.max(0, ...events.filter((at) => at <= now));
    if (hasTimedOut({ idleSince: isWaiting ? null : last, openedAt }, now, turnIdleTimeoutMs)) return now;
  }
  return Infinity;
}

describe("limit of 180 seconds (reliability 13)", () => {
  test("S10: ends a stream 180 s after the last event, and keep-alives are not events", () => {
    expect(sseKeepAliveMs).toBeLessThan(turnIdleTimeoutMs);
    expect(ended([0], [])).toBe(180_000);
    expect(ended([0, 60_000, 100_000], [])).toBe(280_000);
    expect(ended([0, 179_000], [])).toBe(359_000);
  });

  test("S10: does not count while the turn waits for the user, and the end of the wait is an event", () => {
    expect(ended([0, 10_000, 700_000], [[10_000, 700_000]])).toBe(880_000);
  });

  test("S10: starts at the connection for a client that connects to a silent turn", () => {
    expect(ended([0], [], 170_000)).toBe(350_000);
  });
});

describe("over a real link (reliability 12)", () => {
  let server: TestServer;
  afterEach(() => server.close());

  test("a half-open socket is closed in time, and one that only receives is not", async () => {
    server = await openServer();
    const { backend, secrets } = server;
    const gateway = createGateway({
      ...backend,
      secrets,
      limits: { pingIntervalMs: 500, pongTimeoutMs: 4_000, heartbeatMs: 20 },
    });
    const http = createServer();
    gateway.attach(http);
    const open = new Set<Socket>();
    http.on("connection", (socket) => {
      open.add(socket);
      socket.on("close", () => open.delete(socket));
    });
    await once(http.listen(0, "127.0.0.1"), "listening");
    const to = { host: "127.0.0.1", port: (http.address() as AddressInfo).port };
    const proxy = await startProxy({ to });
    try {
      const listener = await SocketClient.open(server, { at: `http://${to.host}:${to.port}` });
      const lost = await SocketClient.open(server, { at: `http://${proxy.host}:${proxy.port}` });
      let pings = 0;
      listener.socket.on("ping", () => pings++);
      expect([listener.socket.readyState, lost.socket.readyState, open.size]).toEqual([1, 1, 2]);
      proxy.blackhole();
      // The limits take some seconds. TCP alone would take a quarter of an hour.
      await expect.poll(() => open.size).toBe(1);
      // It was pinged while the other one was closed, and twice more.
      const before = pings;
      expect(before).toBeGreaterThan(0);
      await expect.poll(() => pings).toBeGreaterThan(before + 1);
      expect(open.size, "it answers pings by itself").toBe(1);
      listener.close();
    } finally {
      await gateway.close();
      await proxy.close();
      http.close();
    }
  });
});
