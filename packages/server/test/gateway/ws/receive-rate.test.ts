/** Tests the rate at which a gateway reads from one socket. */
import { describe, expect, test } from "vitest";
import { type Allowance, refill, takeBytes } from "../../../src/gateway/ws/receive-rate.ts";
import { SocketClient } from "../clients.ts";
import { openServer } from "../test-server.ts";

describe("the allowance of a socket", () => {
  const limits = { bytesPerSecond: 100, burstBytes: 300 };

  test("starts full, sinks with every frame, and is refilled with time up to the burst", () => {
    let allowance: Allowance = takeBytes(null, 250, 0, limits);
    expect(allowance.bytes).toBe(50);
    allowance = takeBytes(allowance, 150, 500, limits);
    expect(allowance.bytes).toBe(-50);
    expect(refill(allowance, 1_000, limits)).toEqual({ bytes: 0, at: 1_000 });
    expect(refill(allowance, 3_000, limits)?.bytes).toBe(200);
    expect(refill(allowance, 4_000, limits)).toBeNull();
  });

  test("limits the average, whatever the pattern of sending", () => {
    let allowance: Allowance = null;
    let sent = 0;
    for (let now = 0; now < 60_000; now += 10) {
      const current = refill(allowance, now, limits);
      if (current !== null && current.bytes < 0) continue;
      allowance = takeBytes(current, 70, now, limits);
      sent += 70;
    }
    expect(sent).toBeLessThanOrEqual(300 + 100 * 60 + 70);
  });
});

test("a socket that sends too fast is read more slowly, stays open, and does not delay others", async () => {
  const limits = { maxBodyBytes: 100_000, socketBytesPerSecond: 100_000, heartbeatMs: 50 };
  const server = await openServer(undefined, {
    limits: { ...limits, pingIntervalMs: 100, pongTimeoutMs: 100 },
  });
  const [fast, other] = [
    await SocketClient.open(server, { perMessageDeflate: false }),
    await SocketClient.open(server),
  ];
  // Each frame has about 90 kB. The burst is 200 kB, so the fourth waits for about 0.7 seconds.
  const text = "x".repeat(90_000);
  const startedAt = performance.now();
  for (let n = 0; n < 4; n++)
    fast.socket.send(
      JSON.stringify({
        type: "send",
        request_id: `long${n}`,
        session_id: "s",
        client_message_id: `m${n}`,
        text,
      }),
    );
  expect(await other.request({ type: "ping" })).toMatchObject({ type: "ack" });
  await fast.until("the last reply", ({ request_id }) => request_id === "long3");
  expect(performance.now() - startedAt).toBeGreaterThan(400);
  expect(fast.end).toBeNull();
  expect(await fast.request({ type: "ping" })).toMatchObject({ type: "ack" });
  for (const client of [fast, other]) client.close();
  await server.close();
});
