/** Measures the rate at which a gateway reads from one socket. */
import { expect, test } from "vitest";
import { SocketClient } from "../clients.ts";
import { openServer } from "../test-server.ts";

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
