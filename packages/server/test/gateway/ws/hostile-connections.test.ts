/**
 * Tests hostile connections byte by byte: whatever they send, the process keeps running, buffers little, and serves
 * others.
 */
import { isStandalone } from "../mount.ts";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { errorReply } from "@turnstream/protocol/schema";
import { createGateway } from "../../../src/gateway/gateway.ts";
import { readJsonBody } from "../../../src/gateway/http/read-body.ts";
import { createSession } from "../../../src/session/lifecycle/create.ts";
import { SocketClient } from "../clients.ts";
import { openServer, type TestServer } from "../test-server.ts";

let server: TestServer;
const sockets: Socket[] = [];

beforeEach(async () => {
  server = await openServer();
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
});

function open(): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1", () => resolve(socket));
    socket.on("error", () => undefined);
    sockets.push(socket);
  });
}

function head(line: string, headers: Readonly<Record<string, string>>): string {
  const all = { host: new URL(server.url).host, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

/** @returns everything received until it contains the text */
async function answerTo(request: string, until: string): Promise<string> {
  const socket = await open();
  let text = "";
  socket.on("data", (data) => (text += data.toString("latin1")));
  socket.write(request, "latin1");
  await expect.poll(() => text).toContain(until);
  return text;
}

const UPGRADE = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};

const PING = 0x9;
const LONG = "y".repeat(100_000);

/** Masked with zeros, at most 125 bytes. */
function frame(kind: number, payload: string): Buffer {
  const start = Buffer.from([0x80 | kind, 0x80 | payload.length, 0, 0, 0, 0]);
  return Buffer.concat([start, Buffer.from(payload)]);
}

describe("hostile request", () => {
  test.for(["/nowhere", "/api/v1/socket", "/api/v1/socket?ticket=x"])(
    "a client that requests a socket at %s and disconnects causes no error",
    async (path) => {
      for (let n = 0; n < 50; n++) {
        const socket = await open();
        socket.write(head(`GET ${path}`, UPGRADE));
        socket.resetAndDestroy();
      }
      // An unhandled error event would come before the answer, and fail the run.
      expect((await server.request("GET", "/sessions")).status).toBe(200);
    },
  );

  test.runIf(isStandalone).for([
    {
      what: "a request that is not HTTP",
      line: "hello? what is",
      headers: {},
      status: 400,
      error: "BAD_REQUEST",
    },
    { what: "an invalid header", line: "GET /x", headers: { "a b": "c" }, status: 400, error: "BAD_REQUEST" },
    {
      what: "an invalid length",
      line: "POST /x",
      headers: { "content-length": "-1" },
      status: 400,
      error: "BAD_REQUEST",
    },
    { what: "a long header", line: "GET /x", headers: { x: LONG }, status: 431, error: "TOO_LARGE" },
    { what: "a long address", line: `GET /${LONG}`, headers: {}, status: 431, error: "TOO_LARGE" },
  ])("$what gets a response in the error schema", async ({ line, headers, status, error }) => {
    const text = await answerTo(head(line, headers), "can_retry");
    const [lines = "", body = ""] = text.split("\r\n\r\n");
    expect(lines).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(lines).toContain("content-type: application/json");
    expect(errorReply.parse(JSON.parse(body))).toMatchObject({ error });
    expect(server.errors).toEqual([]);
  });

  test.runIf(isStandalone)("a request that offers HTTP/2 is answered over HTTP/1.1", async () => {
    const offer = { connection: "Upgrade, HTTP2-Settings", upgrade: "h2c", "http2-settings": "AAMAAABk" };
    const text = await answerTo(head("GET /api/v1/sessions", { ...server.auth, ...offer }), "\r\n\r\n");
    expect(text).toMatch(/^HTTP\/1.1 200 /);
  });

  test.for(["///", "a b", "\u00ff", "application/json, text/plain", "text/plain"])(
    "a body of type %j is refused without an internal error",
    async (type) => {
      const headers = { ...server.auth, "content-type": type, "content-length": "2" };
      const text = await answerTo(`${head("POST /api/v1/sessions", headers)}{}`, "can_retry");
      expect(text).toMatch(/^HTTP\/1.1 400 [^]*"BAD_REQUEST"/);
      expect(server.errors).toEqual([]);
    },
  );
});

test("an interrupted upload is not an internal error", async () => {
  const { id } = await createSession(server.backend, server.actor, {});
  const headers = { ...server.auth, "content-length": "1000000", expect: "100-continue" };
  for (let n = 0; n < 5; n++) {
    const socket = await open();
    socket.write(head(`POST /api/v1/sessions/${id}/files?name=x`, headers));
    await once(socket, "data");
    await new Promise((resolve) => void socket.write("some of it", resolve));
    socket.destroy();
  }
  expect((await server.request("GET", "/sessions")).status).toBe(200);
  expect(server.errors).toEqual([]);
});

test("a body that arrives byte by byte is stored as bytes, not as a list of chunks", async () => {
  const given = JSON.stringify({ text: "\u00e9".repeat(500), more: [1, 2, 3] });
  const piece = new Uint8Array(1);
  async function* body() {
    for (const byte of Buffer.from(given)) {
      // Code that retains the chunks would have the last one many times.
      piece[0] = byte;
      yield piece;
    }
  }
  const size = Buffer.byteLength(given);
  expect(await readJsonBody({ headers: new Map(), body: body() }, size)).toEqual(JSON.parse(given));
  await expect(readJsonBody({ headers: new Map(), body: body() }, size - 1)).rejects.toThrow("at most");
});

describe("hostile socket", () => {
  test("gets a bounded number of pongs while it doesn't read, and the newest one when it does", async () => {
    await server.close();
    // It sends far more than the default rate.
    server = await openServer(undefined, { limits: { socketBytesPerSecond: 2 ** 30 } });
    const socket = await open();
    socket.write(head("GET /api/v1/socket", { ...server.auth, ...UPGRADE }));
    await expect.poll(() => server.server.stats().connections).toBe(1);
    const pings = Buffer.concat(Array.from({ length: 2_000 }, () => frame(PING, "x".repeat(125))));
    let most = 0;
    // More than the system's buffers take, however late the server reads them.
    for (let n = 0; n < 120 || (most === 0 && n < 2_000); n++) {
      socket.write(pings);
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, server.server.stats().maxBufferedBytes);
    }
    socket.write(frame(PING, "the last one"));
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(512 * 1024);
    let tail = "";
    socket.on("data", (data) => (tail = (tail + data.toString("latin1")).slice(-100)));
    await expect.poll(() => tail).toContain("the last one");
  });

  test("gets an error for a command other than a message above `maxCommandBytes`, over HTTP too", async () => {
    const { id } = await createSession(server.backend, server.actor, {});
    const client = await SocketClient.open(server);
    const values = { text: "x".repeat(65_536) };
    const submit = { type: "submit", session_id: id, form_request_id: "form", values };
    expect(await client.request(submit)).toMatchObject({
      error: "TOO_LARGE",
      message: expect.stringContaining("at most 65536 bytes") as string,
    });
    const send = { type: "send", session_id: id, client_message_id: "long", text: values.text };
    expect(await client.request(send)).toMatchObject({ type: "ack" });
    client.close();
    const path = `/sessions/${id}/interactions/form/submit`;
    expect((await server.request("POST", path, { body: { values } })).status).toBe(413);
    expect((await server.request("POST", "/sessions", { body: { title: values.text } })).status).toBe(413);
  });

  test("gets an error for values that are nested too deeply", async () => {
    const { id } = await createSession(server.backend, server.actor, {});
    const client = await SocketClient.open(server);
    const values = { x: JSON.parse(`${"[".repeat(100)}${"]".repeat(100)}`) as unknown };
    const submit = { type: "submit", session_id: id, form_request_id: "f" };
    expect(await client.request({ ...submit, values })).toMatchObject({
      error: "BAD_REQUEST",
      message: expect.stringContaining("64 levels deep") as string,
    });
    expect(await client.request({ ...submit, values: {} })).toMatchObject({ error: "NOT_FOUND" });
    client.close();
  });
});

test("a stream of the plain handler ends with its request, although it is neither read nor cancelled", async () => {
  const { store, log, signals } = server.backend;
  const gateway = createGateway({ store, log, signals, secrets: server.secrets });
  const { id } = await createSession(server.backend, server.actor, {});
  const url = `http://x.test/api/v1/sessions/${id}/events`;
  const left = new AbortController();
  const request = () => new Request(url, { headers: { ...server.auth }, signal: left.signal });
  await gateway.handle(request());
  expect(gateway.stats().connections).toBe(1);
  left.abort();
  await expect.poll(() => gateway.stats().connections).toBe(0);
  await gateway.handle(request());
  await expect.poll(() => gateway.stats().connections).toBe(0);
  await gateway.close();
});
