/**
 * Promise 22: requests that the server makes for others never reach internal addresses. Real listeners count the
 * connections.
 */
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
/** Allows any port, so that only the address can be refused. */
const patient: FetchPolicy = { ports: [80, 443, four.port] };
/** The short timeouts avoid waiting for external hosts. */
const open: FetchPolicy = { ...patient, timeoutMs: 1_500, idleMs: 400 };

/** A public address that is assigned to no server. */
const NO_SERVER = "2e00::1";

let listener: Listener;
let location = "";

beforeAll(async () => {
  listener = await listen("127.0.0.1", (request, response) => {
    const status = Number(request.url?.slice(1));
    // As relative URLs, some of them would lead back to this server.
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

test("the listeners count connections, so that a count of 0 is meaningful", async () => {
  for (const { name, url } of [four, six]) {
    const before = connections();
    expect(await codeOf(url, { ...patient, allow: [name] })).toBe("status 200");
    expect(connections()).toBe(before + 1);
  }
});

test("22: connects to no form of an internal address", async () => {
  const before = connections();
  const urls = [...insideUrls(four.port), ...oddUrls(four.port)];
  expect(urls.length).toBeGreaterThan(200);
  const wrong: string[] = [];
  for (const url of urls) {
    const code = await codeOf(url, patient);
    if (code !== "BLOCKED" && code !== "BAD_URL") wrong.push(`${url}: ${code}`);
  }
  expect(wrong).toEqual([]);
  expect(connections() - before).toBe(0);
});

test("22: follows no redirect to an internal address", async () => {
  const before = connections();
  const policy = { ...patient, allow: [listener.name] };
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
    // As relative URLs, some of them stay on this server.
    const isOwn = URL.parse(location, listener.url)?.host === listener.name;
    if (code !== "BLOCKED" && code !== "BAD_URL" && !isOwn) wrong.push(`${target}: ${code}`);
  }
  expect(wrong).toEqual([]);
  expect(connections() - before).toBe(0);
});

test("22: names with changing or mixed DNS answers never lead to an internal connection", async () => {
  const before = connections();
  const changing: readonly (readonly [4 | 6, readonly (readonly string[])[]])[] = [
    // External for the check, internal for the connection (DNS rebinding).
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
    const policy = { ...open, lookup: names.lookup, timeoutMs: 500 };
    for (let n = 0; n < 10; n++) codes.add(await codeOf(`http://rebind.example:${four.port}/`, policy));
    // One lookup per fetch: the checked address is the one that is used.
    expect(names.asked()).toBe(10);
    names.close();
  }
  // Whether the public address is unreachable or silent depends on the network.
  for (const code of ["TIMEOUT", "UNREACHABLE"]) codes.delete(code);
  expect([...codes]).toEqual(["BLOCKED"]);
  expect(connections() - before).toBe(0);
});

test("22: refuses internal IPv6 answers of a lookup", async () => {
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

test("an allowed host and port is reachable, other ports and hosts are not", async () => {
  const policy = { ...open, lookup: here, allow: [`wiki.internal:${four.port}`] };
  expect(await codeOf(`http://wiki.internal:${four.port}/`, policy)).toBe("status 200");
  expect(await codeOf(`http://wiki.internal:${listener.port}/`, policy)).toBe("BLOCKED");
  expect(await codeOf(`http://other.internal:${four.port}/`, policy)).toBe("BLOCKED");
  expect(await codeOf(`http://127.0.0.1:${four.port}/`, policy)).toBe("BLOCKED");
});

test("refuses URLs that can't be fetched", async () => {
  for (const url of BAD_URLS) expect([url, await codeOf(url)]).toEqual([url, "BAD_URL"]);
});

test.each(BAD_PORTS)("%s is refused because of its port", async (url) => {
  expect(await codeOf(url, {})).toBe("BLOCKED");
});

test("ignores the proxy of the environment", async () => {
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

test("error messages don't contain the address that a name resolved to", async () => {
  const policy = { ...open, lookup: () => Promise.resolve(["10.11.12.13"]) };
  await expect(safeFetch("http://probe.example/", { policy, signal })).rejects.toThrow(/^(?!.*10[.]11).*$/);
});

test("classifies public addresses as public", () => {
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
