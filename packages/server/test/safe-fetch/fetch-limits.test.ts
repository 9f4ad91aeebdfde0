/**
 * Tests the limits of a fetch against real servers that violate them: slow, endless, malformed and compressed
 * responses.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from "node:zlib";

import { afterAll, beforeAll, expect, test } from "vitest";

import { FETCH_ERRORS, FetchError } from "../../src/safe-fetch/errors.ts";
import type { FetchPolicy } from "../../src/safe-fetch/policy.ts";
import { safeFetch, type SafeFetchOptions } from "../../src/safe-fetch/safe-fetch.ts";
import { listen, type Listener } from "./listeners.ts";

let server: Listener;
let other: Listener;
const requested = new Set<string>();
const closed = new Set<string>();

const MEGABYTES_100 = Buffer.alloc(100_000_000);
const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } };
const packers = {
  gzip: gzipSync,
  br: (bytes: string | Buffer) => brotliCompressSync(bytes, quick),
  deflate: deflateSync,
  "x-gzip": gzipSync,
};
const bombs = new Map(Object.entries(packers).map(([name, pack]) => [name, pack(MEGABYTES_100)]));

const pages: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
  "/plain": (_, response) => response.setHeader("content-type", "Text/Plain; charset=utf-8").end("hello"),
  "/silent": () => undefined,
  "/slow": (_, response) => {
    const timer = setInterval(() => response.write("x"), 50);
    response.on("close", () => clearInterval(timer));
  },
  "/stalled": (_, response) => void response.write("x"),
  "/endless": (_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on("drain", more);
    more();
  },
  "/too-long": (_, response) => response.writeHead(200, { "content-length": 50_000_000 }).end(),
  "/loop": (_, response) => response.writeHead(302, { location: "/loop" }).end(),
  "/twice": (_, response) => response.writeHead(302, { location: "/hop" }).end(),
  "/hop": (_, response) => response.writeHead(302, { location: "/plain" }).end(),
  "/headers": (_, response) => response.writeHead(200, { "x-long": "a".repeat(30_000) }).end(),
  "/elsewhere": (_, response) => response.writeHead(307, { location: `${other.url}/echo` }).end(),
  "/away-and-back": (_, response) => response.writeHead(302, { location: `${other.url}/back` }).end(),
  "/back": (_, response) => response.writeHead(302, { location: `${server.url}/echo` }).end(),
  "/here": (_, response) => response.writeHead(308, { location: "/echo" }).end(),
  "/see-other": (_, response) => response.writeHead(303, { location: "/echo" }).end(),
  "/echo": (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      response.end(JSON.stringify({ method: request.method, headers: request.headers, body }));
    });
  },
  "/garbage-gzip": (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end("no gzip"),
  "/garbage-br": (_, response) => response.writeHead(200, { "content-encoding": "br" }).end("no brotli"),
  "/unknown": (_, response) => response.writeHead(200, { "content-encoding": "compress" }).end("x"),
  "/nested": (_, response) =>
    response.writeHead(200, { "content-encoding": "gzip, gzip" }).end(bombs.get("gzip")),
  "/raw-deflate": (_, response) =>
    response.writeHead(200, { "content-encoding": "deflate" }).end(deflateRawSync("hello")),
};

const serve: RequestListener = (request, response) => {
  const path = request.url ?? "";
  requested.add(path);
  response.on("close", () => closed.add(path));
  const [, kind, name] = path.split("/");
  const pack = packers[name as keyof typeof packers];
  if (kind === "bomb") response.setHeader("content-encoding", name ?? "").end(bombs.get(name ?? ""));
  else if (kind === "small") response.setHeader("content-encoding", name ?? "").end(pack("hello"));
  else pages[path]?.(request, response);
};

beforeAll(async () => {
  server = await listen("127.0.0.1", serve);
  other = await listen("127.0.0.1", serve);
});

afterAll(async () => {
  await Promise.all([server.close(), other.close()]);
});

function get(path: string, options: Partial<SafeFetchOptions> = {}, limits: FetchPolicy = {}) {
  const policy = { allow: [server.name, other.name], maxBytes: 1_000_000, timeoutMs: 3_000, ...limits };
  return safeFetch(`${server.url}${path}`, { signal: new AbortController().signal, ...options, policy });
}

async function codeOf(path: string, limits?: FetchPolicy): Promise<string> {
  try {
    return Buffer.from(await (await get(path, {}, limits)).bytes()).toString();
  } catch (error) {
    return error instanceof FetchError ? error.code : String(error);
  }
}

const mayFollow = (url: string) => url.startsWith(`${server.url}/`);

interface Echo {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

async function echo(path: string, options: Partial<SafeFetchOptions>): Promise<Echo> {
  return JSON.parse(Buffer.from(await (await get(path, options)).bytes()).toString()) as Echo;
}

test("returns a response unchanged", async () => {
  const answer = await get("/plain");
  expect(answer).toMatchObject({ status: 200, url: `${server.url}/plain`, mediaType: "text/plain" });
  expect(Buffer.from(await answer.bytes()).toString()).toBe("hello");
});

test.each(Object.keys(packers))("decompresses %s and stops a decompression bomb", async (name) => {
  expect(await codeOf(`/small/${name}`)).toBe("hello");
  expect(await codeOf(`/bomb/${name}`)).toBe("TOO_LARGE");
});

test.each([
  ["/nested", "BAD_RESPONSE"],
  ["/unknown", "BAD_RESPONSE"],
  ["/garbage-gzip", "BAD_RESPONSE"],
  ["/garbage-br", "BAD_RESPONSE"],
  ["/headers", "BAD_RESPONSE"],
  ["/raw-deflate", "hello"],
  ["/endless", "TOO_LARGE"],
  ["/too-long", "TOO_LARGE"],
  ["/loop", "TOO_MANY_REDIRECTS"],
  ["/twice", "hello"],
])("%s ends as %s", async (path, code) => {
  expect(await codeOf(path)).toBe(code);
});

test.each(["/silent", "/stalled"])("%s ends with TIMEOUT when no data arrives", async (path) => {
  expect(await codeOf(path, { idleMs: 300, timeoutMs: 3_600_000 })).toBe("TIMEOUT");
});

test("a response that trickles ends with TIMEOUT after the total time", async () => {
  expect(await codeOf("/slow", { idleMs: 3_600_000, timeoutMs: 500 })).toBe("TIMEOUT");
});

test("counts redirects against the policy", async () => {
  expect(await codeOf("/twice", { maxRedirects: 1 })).toBe("TOO_MANY_REDIRECTS");
  expect(await codeOf("/hop", { maxRedirects: 0 })).toBe("TOO_MANY_REDIRECTS");
  expect(await codeOf("/plain", { maxRedirects: 0 })).toBe("hello");
});

test("a caller can lower the limits of the policy, but not raise them", async () => {
  await expect((await get("/plain", { maxBytes: 5 })).bytes()).resolves.toHaveLength(5);
  await expect(get("/plain", { maxBytes: 4 })).rejects.toMatchObject({ code: "TOO_LARGE" });
  await expect(get("/plain", { maxBytes: 9 }, { maxBytes: 4 })).rejects.toMatchObject({ code: "TOO_LARGE" });
});

test("an aborted caller gets its own reason, before and during the response", async () => {
  for (const path of ["/silent", "/slow"]) {
    const stop = new AbortController();
    requested.delete(path);
    const reading = get(path, { signal: stop.signal }).then((response) => response.bytes());
    const stopped = reading.catch(String);
    await expect.poll(() => requested.has(path)).toBe(true);
    stop.abort(new Error("stopped"));
    expect(await stopped).toContain("stopped");
    await expect.poll(() => closed.has(path)).toBe(true);
  }
  await expect(get("/plain", { signal: AbortSignal.abort(new Error("early")) })).rejects.toThrow("early");
});

test("cancelling an unused body closes its connection", async () => {
  const answer = await get("/endless");
  closed.delete("/endless");
  answer.cancel();
  await expect.poll(() => closed.has("/endless")).toBe(true);
});

test("forwards credentials within one origin, and never to another", async () => {
  const headers = { Authorization: "Bearer k", Cookie: "a=b", "X-Api-Key": "k", "Accept-Language": "vi" };
  const same = await echo("/here", { headers });
  expect(same.headers).toMatchObject({ authorization: "Bearer k", cookie: "a=b", "x-api-key": "k" });
  for (const path of ["/elsewhere", "/away-and-back"]) {
    const moved = await echo(path, { headers });
    expect(moved.headers["accept-language"]).toBe("vi");
    expect(Object.keys(moved.headers)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/authorization|cookie|x-api-key/)]),
    );
  }
});

test("forwards a body within one origin, and never to another", async () => {
  const sent = { method: "POST", headers: { "content-type": "text/plain" }, body: "secret" } as const;
  expect(await echo("/here", sent)).toMatchObject({ method: "POST", body: "secret" });
  expect(await echo("/see-other", sent)).toMatchObject({ method: "GET", body: "" });
  await expect(get("/elsewhere", sent)).rejects.toMatchObject({ code: "BLOCKED" });
});

test("the caller can't set the headers of the connection", async () => {
  const { headers } = await echo("/echo", {
    headers: { Host: "inside", "Transfer-Encoding": "chunked", TE: "x" },
  });
  expect(headers["host"]).toBe(server.name);
  expect(headers["te"]).toBeUndefined();
});

test("the caller can refuse a redirect that the policy allows", async () => {
  await expect(get("/elsewhere", { mayFollow })).rejects.toMatchObject({ code: "BLOCKED" });
  expect((await get("/twice", { mayFollow })).status).toBe(200);
});

test("detects a server that sends no HTTP or closes early", async () => {
  const talk = ["SSH-2.0-x\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", ""];
  const codes = [];
  for (const bytes of talk) {
    const raw = createServer((socket) => socket.on("error", () => undefined).end(bytes));
    await new Promise<void>((resolve) => raw.listen(0, "127.0.0.1", resolve));
    const name = `127.0.0.1:${(raw.address() as AddressInfo).port}`;
    const options = { policy: { allow: [name] }, signal: new AbortController().signal };
    const read = async () => (await safeFetch(`http://${name}/`, options)).bytes();
    codes.push(await read().then(String, (error: FetchError) => error.code));
    raw.close();
  }
  expect(codes).toEqual(["BAD_RESPONSE", "UNREACHABLE", "UNREACHABLE"]);
});

test("every code has a message that contains what to do", () => {
  for (const message of Object.values(FETCH_ERRORS)) expect(message).toMatch(/^[A-Z].+[.] .+[.]$/);
});
