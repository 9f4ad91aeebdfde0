/** Tests compressed messages over real sockets: who gets them, and that they contain the same as plain ones. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSession } from "../../../src/session/lifecycle/create.ts";
import { sendMessage } from "../../../src/session/messages/send.ts";
import { SocketClient } from "../clients.ts";
import { openServer, type TestServer } from "../test-server.ts";

/** Letters of several lengths in UTF-8. */
const TEXT = "How is VNM doing? Ça va? 你好 🙂 ".repeat(500);

let server: TestServer;
const clients: SocketClient[] = [];

beforeEach(async () => {
  server = await openServer();
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server.close();
});

async function openSession(text: string): Promise<string> {
  const { id } = await createSession(server.backend, server.actor, {});
  const ref = { tenant: server.actor.tenant, session: id };
  await sendMessage(server.backend, ref, { id: "m1", text });
  return id;
}

/** @returns the snapshot that a new client gets, and the bytes that it has received */
async function subscribe(
  session_id: string,
  perMessageDeflate: boolean,
): Promise<{ readonly snapshot: unknown; readonly bytes: number; readonly client: SocketClient }> {
  const client = await SocketClient.open(server, { dialect: "native", perMessageDeflate });
  clients.push(client);
  const before = client.bytesRead;
  await client.request({ type: "subscribe", session_id });
  const { snapshot } = await client.until("snapshot", ({ type }) => type === "snapshot");
  return { snapshot, bytes: client.bytesRead - before, client };
}

test("a client that accepts compressed messages gets the same snapshot in fewer bytes", async () => {
  const session = await openSession(TEXT);
  const [plain, compressed] = [await subscribe(session, false), await subscribe(session, true)];
  expect(plain.client.socket.extensions).toBe("");
  expect(plain.bytes).toBeGreaterThan(Buffer.byteLength(TEXT));
  expect(compressed.snapshot).toEqual(plain.snapshot);
  expect(JSON.stringify(compressed.snapshot)).toContain(TEXT);
  expect(compressed.bytes).toBeLessThan(plain.bytes / 5);
});

test("clients that subscribe at once share compressed snapshots, and can send compressed commands", async () => {
  const session = await openSession(TEXT);
  const opened = await Promise.all(Array.from({ length: 10 }, (_, n) => subscribe(session, n % 2 === 0)));
  for (const { snapshot, client } of opened) {
    expect(snapshot).toEqual(opened[0]?.snapshot);
    // `ws` compresses a command of this length.
    const client_message_id = "x".repeat(2_000);
    const reply = await client.request({ type: "send", session_id: session, client_message_id, text: "hi" });
    expect(reply["error"]).toBe("BAD_REQUEST");
  }
});

test("a compressed command must not be longer than a plain one", async () => {
  await server.close();
  server = await openServer(undefined, { limits: { maxBodyBytes: 50_000 } });
  const client = await SocketClient.open(server);
  clients.push(client);
  client.socket.send(JSON.stringify({ type: "ping", more: "x".repeat(60_000) }));
  expect((await client.closed()).code).toBe(1009);
});

test("compressed commands count with their whole length: far too many at once close the socket", async () => {
  await server.close();
  server = await openServer(undefined, { limits: { maxBodyBytes: 50_000, socketBytesPerSecond: 50_000 } });
  const [client, other] = [await SocketClient.open(server), await SocketClient.open(server)];
  clients.push(client, other);
  // Together they have a few hundred bytes on the wire.
  for (let n = 0; n < 8; n++) client.socket.send(JSON.stringify({ type: "ping", more: "x".repeat(40_000) }));
  expect((await client.closed()).code).toBe(4429);
  expect(await other.request({ type: "ping" })).toMatchObject({ type: "ack" });
});
