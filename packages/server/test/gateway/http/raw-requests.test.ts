/**
 * Tests requests that only a hostile client writes, byte by byte: two readings of one request, repeated and folded
 * headers, other spellings of a path, encoded bodies, control characters, and clients that send slowly.
 */
import { isOnNode, isStandalone } from "../mount.ts";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { isFull } from "@turnstream/conformance/support/cases.ts";
import type { ServerLogger } from "../../../src/gateway/create-server.ts";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../test-server.ts";

let server: TestServer;
let session: string;
const lines: unknown[] = [];
const sockets: Socket[] = [];

const write = (...values: unknown[]) => void lines.push(...values);

beforeAll(async () => {
  const logger: ServerLogger = { info: write, warn: write };
  server = await openServer(undefined, { logger });
  session = (await server.request("POST", "/sessions", { body: {} })).json.session_id;
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => server.close());

interface Raw {
  readonly socket: Socket;
  readonly text: () => string;
  readonly isClosed: () => boolean;
}

async function open(): Promise<Raw> {
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  sockets.push(socket);
  let text = "";
  let isClosed = false;
  socket.on("data", (data) => (text += data.toString("latin1")));
  socket.on("close", () => (isClosed = true)).on("error", () => undefined);
  await new Promise((resolve) => socket.once("connect", resolve));
  return { socket, text: () => text, isClosed: () => isClosed };
}

/** Sends bytes and waits until the server closes the connection. @returns the status of each response */
async function statuses(bytes: string): Promise<number[]> {
  const { socket, text, isClosed } = await open();
  socket.write(bytes, "latin1");
  await expect.poll(isClosed).toBe(true);
  return [...text().matchAll(/HTTP\/1[.]1 (\d+)/g)].map(([, status]) => Number(status));
}

function key(): string {
  return `x-api-key: ${server.key.secret}\r\n`;
}

function credentials(): string {
  return `${key()}x-user-id: ${server.actor.user}\r\n`;
}

/** A whole request that a proxy in front might not see as one. */
const second = () => `GET /api/v1/sessions HTTP/1.1\r\nhost: x\r\n${credentials()}\r\n`;
const post = (headers: string, body: string) =>
  `POST /api/v1/sessions HTTP/1.1\r\nhost: x\r\n${credentials()}${headers}\r\n${body}`;
const get = (path: string, headers = credentials()) =>
  `GET ${path} HTTP/1.1\r\nhost: x\r\n${headers}connection: close\r\n\r\n`;

describe("a request with two readings", () => {
  test.each([
    ["a length and chunks", "content-length: 6\r\ntransfer-encoding: chunked\r\n", "0\r\n\r\n"],
    ["two lengths", "content-length: 2\r\ncontent-length: 40\r\n", "{}"],
    ["a list of lengths", "content-length: 2, 40\r\n", "{}"],
    ["an unknown encoding", "transfer-encoding: xchunked\r\n", "0\r\n\r\n"],
    ["two encodings", "transfer-encoding: chunked, identity\r\n", "0\r\n\r\n"],
    ["a space after the name of a header", "transfer-encoding : chunked\r\n", "0\r\n\r\n"],
    ["a folded header", "x-note: a\r\n b\r\n", ""],
    ["a chunk with a malformed length", "transfer-encoding: chunked\r\n", "0x2\r\n{}\r\n0\r\n\r\n"],
  ])("with %s is refused, and its rest is no second request", async (_, headers, body) => {
    expect(await statuses(post(headers, `${body}${second()}`))).toEqual([400]);
  });

  test("that has no host, or lines without carriage returns, is refused", async () => {
    expect(await statuses(`GET /api/v1/sessions HTTP/1.1\r\n${credentials()}\r\n`)).toEqual([400]);
    expect(await statuses(get("/api/v1/sessions").replaceAll("\r\n", "\n"))).toEqual([400]);
  });

  test("that names two users is of neither, and with two keys it is refused", async () => {
    const users = `x-user-id: bo\r\nx-user-id: ${server.actor.user}\r\n`;
    expect(await statuses(get(`/api/v1/sessions/${session}`, `${key()}${users}`))).toEqual([404]);
    expect(await statuses(get("/api/v1/sessions", `${key()}${credentials()}`))).toEqual([401]);
  });

  test.runIf(isOnNode)(
    "in another form than a path, or with another method in a header, reaches no route",
    async () => {
      for (const path of [
        `http://evil.example/api/v1/sessions/${session}`,
        `/api/v1/shares/../sessions/${session}`,
        `/api/v1/./sessions/${session}`,
        `/api/v1/sessions/${session}/.`,
        `/api/v1;x=1/sessions/${session}`,
      ])
        expect(await statuses(get(path)), path).toEqual([404]);
      expect(await statuses("CONNECT 169.254.169.254:80 HTTP/1.1\r\nhost: x\r\n\r\n")).toEqual([]);
      const trace = `TRACE /api/v1/sessions HTTP/1.1\r\nhost: x\r\n${credentials()}connection: close\r\n\r\n`;
      const [traced] = await statuses(trace);
      expect([404, 405, 501]).toContain(traced);
      const headers = { ...server.auth, "x-http-method-override": "DELETE", "x-http-method": "DELETE" };
      expect((await server.request("POST", `/sessions/${session}`, { headers, body: {} })).status).toBe(405);
      expect((await server.request("GET", `/sessions/${session}`)).status).toBe(200);
    },
  );
});

async function send(body: string | Uint8Array<ArrayBuffer>, headers = {}) {
  const init = {
    method: "POST",
    headers: { ...server.auth, "content-type": "application/json", ...headers },
    body,
  };
  const response = await fetch(`${server.url}/api/v1/sessions`, init);
  return { status: response.status, json: (await response.json()) as { readonly title?: string } };
}

test("a compressed body is not expanded, and of two equal names the last one counts", async () => {
  for (const encoding of ["gzip", "deflate", "br"])
    expect(
      await send(new Uint8Array(gzipSync(Buffer.alloc(1_000_000))), { "content-encoding": encoding }),
    ).toMatchObject({ status: 400 });
  expect(await send('{"title":"a","title":"b"}')).toMatchObject({ status: 201, json: { title: "b" } });
});

test.runIf(isStandalone)("a path writes no control characters into the log", async () => {
  const from = lines.length;
  const path = `/api/v1/sessions/a%0d%0aFORGED%1b[31m%00`;
  expect(await statuses(get(path))).toEqual([404]);
  for (const raw of ["\u001b[31m", "\u0000", "\u007f", "\u009b31m"])
    await statuses(get(`/api/v1/sessions/${raw}FORGED`));
  await expect.poll(() => JSON.stringify(lines.slice(from))).toContain("FORGED");
  const text = lines
    .slice(from)
    .map((line) => (typeof line === "string" ? line : Object.values(line as object)));
  // oxlint-disable-next-line no-control-regex -- the test looks for them
  expect(text.flat().join(" ")).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
});

describe("a slow client", () => {
  test("without access is refused before its body arrives", async () => {
    const { socket, text } = await open();
    socket.write("POST /api/v1/sessions HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n{");
    await expect.poll(text).toMatch(/^HTTP\/1[.]1 401 /);
  });

  test("delays no other client, even if there are hundreds that never end their headers", async () => {
    const slow = await Promise.all(Array.from({ length: 300 }, open));
    for (const { socket } of slow) socket.write("GET /api/v1/sessions HTTP/1.1\r\nhost: x\r\nx: ");
    expect((await server.request("GET", `/sessions/${session}`)).status).toBe(200);
    expect(slow.filter(({ isClosed }) => isClosed())).toEqual([]);
  });

  // Node checks its limit of 60 seconds every 30 seconds.
  test.runIf(isFull)(
    "that never ends its headers gets 408, and is closed",
    { timeout: 300_000 },
    async () => {
      const { socket, text, isClosed } = await open();
      socket.write("GET /api/v1/sessions HTTP/1.1\r\nhost: x\r\nx: ");
      const timer = setInterval(() => socket.write("a"), 1_000);
      await expect.poll(isClosed, { timeout: 240_000 }).toBe(true);
      clearInterval(timer);
      expect(text()).toMatch(/^HTTP\/1[.]1 408 /);
    },
  );
});
