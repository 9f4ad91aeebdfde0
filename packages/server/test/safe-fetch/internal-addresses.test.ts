/** Promise 22: what the server fetches for others stays outside. Connections are counted by real listeners. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { isPublicAddress } from "../../src/safe-fetch/guarded-lookup.ts";
import { FetchError } from "../../src/safe-fetch/errors.ts";
import type { FetchPolicy } from "../../src/safe-fetch/policy.ts";
import { safeFetch } from "../../src/safe-fetch/safe-fetch.ts";
import { BAD_PORTS, BAD_URLS, insideUrls, oddUrls } from "./internal-urls.ts";
import { listen, type Listener } from "./listeners.ts";
import { startNameServer } from "./name-server.ts";

const signal = new AbortController().signal;
const four: Listener = await listen("127.0.0.1");
const six: Listener = await listen("::1", undefined, four.port);
/** Any port, so that only the address can be what is refused; and nothing outside is waited for. */
const open: FetchPolicy = { ports: [80, 443, four.port], timeoutMs: 1_500, idleMs: 400 };

/** Of the public internet, and given to nobody. */
const NO_SERVER = "2e00::1";

let listener: Listener;
let location = "";

beforeAll(async () => {
  listener = await listen("127.0.0.1", (request, response) => {
    const status = Number(request.url?.slice(1));
    // As a relative address some of them lead back here.
    if (status >= 200) response.writeHead(status, { location }).end();
    else response.end("here");
  });
});

afterAll(async () => {
  await Promise.all([four.close(), six.close(), listener.close()]);
});

const here = () => Promise.resolve(["127.0.0.1"]);
const connections = () => four.connections() + six.connections();

async function codeOf(url: string, policy: FetchPolicy = open): Promise<string> {
  try {
    const { status } = await safeFetch(url, { policy, signal });
    return `status ${status}`;
  } catch (error) {
    return error instanceof FetchError ? error.code : String(error);
  }
}

test("the listeners count, so that 0 means something", async () => {
  for (const { name, url } of [four, six]) {
    const before = connections();
    expect(await codeOf(url, { ...open, allow: [name] })).toBe("status 200");
    expect(connections()).toBe(before + 1);
  }
});

test("22: no form of an address inside is connected to", async () => {
  const before = connections();
  const urls = [...insideUrls(four.port), ...oddUrls(four.port)];
  expect(urls.length).toBeGreaterThan(200);
  const wrong: string[] = [];
  for (const url of urls) {
    const code = await codeOf(url);
    if (code !== "BLOCKED" && code !== "BAD_URL") wrong.push(`${url}: ${code}`);
  }
  expect(wrong).toEqual([]);
  expect(connections() - before).toBe(0);
});

test("22: no redirect leads to an address inside", async () => {
  const before = connections();
  const policy = { ...open, allow: [listener.name] };
  const wrong: string[] = [];
  const targets = [
    ...insideUrls(four.port),
    ...oddUrls(four.port),
    `//127.0.0.1:${four.port}/`,
    "file:///etc/passwd",
  ];
  for (const [n, target] of targets.entries()) {
    location = encodeURI(target).replaceAll("%5B", "[").replaceAll("%5D", "]");
    const code = await codeOf(`${listener.url}/${[301, 302, 303, 307, 308][n % 5]}`, policy);
    // As a relative address some of them stay where they are.
    const isOwn = URL.parse(location, listener.url)?.host === listener.name;
    if (code !== "BLOCKED" && code !== "BAD_URL" && !isOwn) wrong.push(`${target}: ${code}`);
  }
  expect(wrong).toEqual([]);
  expect(connections() - before).toBe(0);
});

test("22: names whose answers change, or are mixed, are never connected to inside", async () => {
  const before = connections();
  const changing: readonly (readonly [4 | 6, readonly (readonly string[])[]])[] = [
    // Outside for whoever checks, inside for whoever connects.
    [6, [[NO_SERVER], ["::1"]]],
    [6, [["::1"], [NO_SERVER]]],
    [6, [[NO_SERVER], ["::ffff:127.0.0.1"], ["fd00:ec2::254"]]],
    [6, [[NO_SERVER, "::1"]]],
    [6, [["::1", NO_SERVER]]],
    [4, [["127.0.0.1"], ["169.254.169.254"]]],
    [4, [["10.0.0.1"], ["0.0.0.0"], ["127.0.0.1"]]],
  ];
  const codes = new Set<string>();
  for (const [family, answers] of changing) {
    const names = await startNameServer(family, (n) => answers[n % answers.length] ?? []);
    const policy = { ...open, lookup: names.lookup, idleMs: 150 };
    for (let n = 0; n < 10; n++) codes.add(await codeOf(`http://rebind.example:${four.port}/`, policy));
    // One question for each fetch: what was checked is what is used.
    expect(names.asked()).toBe(10);
    names.close();
  }
  codes.delete("TIMEOUT");
  expect([...codes].toSorted()).toEqual(["BLOCKED", "UNREACHABLE"]);
  expect(connections() - before).toBe(0);
});

test("22: the same by a lookup that knows IPv6", async () => {
  const before = connections();
  for (const address of [
    "::1",
    "::ffff:127.0.0.1",
    "::7f00:1",
    "fd00::1",
    "64:ff9b::7f00:1",
    "127.1",
    "nonsense",
  ]) {
    const lookup = () => Promise.resolve([address]);
    expect(await codeOf(`http://six.example:${four.port}/`, { ...open, lookup })).toBe("BLOCKED");
  }
  expect(connections() - before).toBe(0);
});

test("a name that is allowed by host and port reaches it, its neighbours do not", async () => {
  const policy = { ...open, lookup: here, allow: [`wiki.internal:${four.port}`] };
  expect(await codeOf(`http://wiki.internal:${four.port}/`, policy)).toBe("status 200");
  expect(await codeOf(`http://wiki.internal:${listener.port}/`, policy)).toBe("BLOCKED");
  expect(await codeOf(`http://other.internal:${four.port}/`, policy)).toBe("BLOCKED");
  expect(await codeOf(`http://127.0.0.1:${four.port}/`, policy)).toBe("BLOCKED");
});

test("what can't be fetched at all is refused", async () => {
  for (const url of BAD_URLS) expect([url, await codeOf(url)]).toEqual([url, "BAD_URL"]);
});

test.each(BAD_PORTS)("%s is refused for its port", async (url) => {
  expect(await codeOf(url, {})).toBe("BLOCKED");
});

test("a proxy of the environment is not used", async () => {
  const names = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "NODE_USE_ENV_PROXY"];
  const before = connections();
  for (const name of names) process.env[name] = name.startsWith("NODE") ? "1" : four.url;
  try {
    expect(await codeOf(`${listener.url}/204`, { ...open, allow: [listener.name] })).toBe("status 204");
  } finally {
    for (const name of names) delete process.env[name];
  }
  expect(connections() - before).toBe(0);
});

test("no word of an error tells what a name resolved to", async () => {
  const policy = { ...open, lookup: () => Promise.resolve(["10.11.12.13"]) };
  await expect(safeFetch("http://probe.example/", { policy, signal })).rejects.toThrow(/^(?!.*10[.]11).*$/);
});

test("public addresses are public", () => {
  const outside = [
    "93.184.215.14",
    "1.1.1.1",
    "8.8.8.8",
    "168.63.129.17",
    "172.32.0.1",
    "100.128.0.1",
    "192.167.1.1",
  ];
  for (const address of [
    ...outside,
    "2606:4700:4700::1111",
    "2a00:1450:4001:800::200e",
    "2001:4860:4860::8888",
  ])
    expect([address, isPublicAddress(address)]).toEqual([address, true]);
});
