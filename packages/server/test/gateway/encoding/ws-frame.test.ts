/** Tests that any text arrives unchanged over real event streams, Node responses and web streams. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { SseMessage } from "@turnstream/protocol";
import { formatSse, toWireJson } from "@turnstream/protocol/writer";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Caller } from "../../../src/gateway/caller.ts";
import { ConnectionRegistry } from "../../../src/gateway/connection/connection-registry.ts";
import type { StreamHandler } from "../../../src/gateway/context.ts";
import { DEFAULT_GATEWAY_LIMITS } from "../../../src/gateway/gateway-limits.ts";
import { encodeTextFrame } from "../../../src/gateway/encoding/ws-frame.ts";
import { startEventStream, toWebStream } from "../../../src/gateway/sse/event-stream.ts";
import { StreamClient } from "../clients.ts";

const HEARTBEAT_MS = 1_000;

const caller: Caller = {
  tenant: "t",
  user: "u",
  scopes: [],
  key: null,
  expiresAt: null,
  from: "127.0.0.1",
  clientId: "c1",
};
const nothing = { onFlush() {}, onDrain() {}, onClose() {}, onHeartbeat() {}, fail() {}, onShutdown() {} };
const connections = new ConnectionRegistry(() => undefined, HEARTBEAT_MS);

let open: StreamHandler;
const options = () => ({
  caller,
  connections,
  limits: DEFAULT_GATEWAY_LIMITS,
  open,
  onClosed: () => undefined,
  random: () => 0.5,
});
const server = createServer((_request, response) =>
  startEventStream(response, { status: 200, headers: {} }, options()),
);

beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(async () => {
  await connections.close();
  server.close();
});

const ways: Record<string, () => Promise<StreamClient>> = {
  http: () => StreamClient.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
  web: async () => StreamClient.of(new Response(toWebStream(options(), new AbortController().signal))),
};

/** Sends each text as the data of one event, and again as the text of a frame. */
async function receive(way: string, texts: readonly string[]): Promise<SseMessage[]> {
  open = (sink) => {
    for (const text of texts)
      sink.send(Buffer.from(formatSse({ event: "e", data: toWireJson({ type: "e", text }) })));
    sink.end();
    return nothing;
  };
  const stream = await (ways[way] as () => Promise<StreamClient>)();
  await stream.ended();
  return stream.messages;
}

const nasty = fc.constantFrom(
  "\r",
  "\n",
  "\r\n",
  "\0",
  "\u2028",
  "\ud800",
  "\udfff",
  "data: x",
  "\n\n",
  "id: 1-1",
  ": ",
  "[DONE]",
  "\ufeff",
  "🥾",
);
const text = fc
  .array(fc.oneof(nasty, fc.string({ unit: "binary" })), { maxLength: 8 })
  .map((parts) => parts.join(""));

describe("any string (reliability 24)", () => {
  test.for(Object.keys(ways))("round-trips over a real event stream: %s", async (way) => {
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 40 }), async (texts) => {
        const messages = await receive(way, texts);
        expect(messages.map(({ data }) => (JSON.parse(data) as { text: string }).text)).toEqual(texts);
        expect(messages.every(({ event, id }) => event === "e" && id === undefined)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test("is one WebSocket text frame, at every length where the header grows", () => {
    for (const length of [0, 1, 125, 126, 65_535, 65_536, 70_000]) {
      const frame = encodeTextFrame("é".repeat(Math.floor(length / 2)) + "x".repeat(length % 2));
      const short = (frame[1] as number) & 0x7f;
      const [head, size] =
        short < 126
          ? [2, short]
          : short === 126
            ? [4, frame.readUInt16BE(2)]
            : [10, Number(frame.readBigUInt64BE(2))];
      expect([frame[0], head + size, size]).toEqual([0x81, frame.byteLength, length]);
    }
  });
});

describe("toWebStream", () => {
  test("buffers little, lets a slow reader catch up, and reports that the reader left", async () => {
    const events: string[] = [];
    const sent: string[] = [];
    open = (sink) => {
      for (let n = 0; n < 40; n++) sent.push(sink.send(Buffer.alloc(16 * 1024, 120)));
      return {
        ...nothing,
        onFlush: () => events.push("flushed"),
        onDrain: () => events.push("drained"),
        onClose: () => events.push("closed"),
      };
    };
    const reader = toWebStream(options(), new AbortController().signal).getReader();
    expect(sent.filter((one) => one === "written").length).toBeLessThanOrEqual(3);
    expect(sent.filter((one) => one === "queued").length).toBe(32);
    expect(sent.at(-1)).toBe("dropped");
    while (events.length === 0) await reader.read();
    expect(events).toEqual(["drained"]);
    await reader.cancel();
    expect(events).toEqual(["drained", "closed"]);
    expect(connections.size).toBe(0);
  });
});
