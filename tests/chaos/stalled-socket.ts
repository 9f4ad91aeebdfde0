/**
 * `openStalled` opens a WebSocket on a raw TCP connection that subscribes and then stops reading, until the caller
 * resumes it. The operating system still buffers some bytes for it.
 */
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";

export async function openStalled({ url, headers }: Endpoint, session: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const lines = Object.entries({
    host: `${hostname}:${port}`,
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": randomBytes(16).toString("base64"),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET /api/v1/socket?dialect=native HTTP/1.1\r\n${lines.join("")}\r\n`);
  const [answer] = (await once(socket, "data")) as [Buffer];
  if (!answer.toString().startsWith("HTTP/1.1 101")) throw new Error(`no socket: ${answer.toString()}`);
  socket.write(masked(JSON.stringify({ type: "subscribe", session_id: session })));
  // The reply to the subscription.
  await once(socket, "data");
  socket.pause();
  socket.on("error", () => undefined);
  return socket;
}

/** Encodes a short text frame with the mask that clients must use. */
function masked(text: string): Buffer {
  const bytes = Buffer.from(text);
  const mask = randomBytes(4);
  const head =
    bytes.length < 126 ? [0x81, 0x80 | bytes.length] : [0x81, 0xfe, bytes.length >> 8, bytes.length & 255];
  return Buffer.concat([Buffer.from(head), mask, bytes.map((byte, n) => byte ^ (mask[n % 4] as number))]);
}
