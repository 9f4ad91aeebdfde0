/** Tests the slot map of a Redis Cluster and the addresses in it. */
import { expect, test } from "vitest";
import { addressOf, parseRedirection, urlAt } from "../../../src/log/redis/connection/address.ts";
import { parseSlotMap } from "../../../src/log/redis/topology/slot-map.ts";

const LAST = 16_383;

/** Returns the address of a server that owns all slots, for the host that CLUSTER SLOTS returns. */
const parsedAddress = (host: string | null, metadata?: unknown) =>
  parseSlotMap([[0, LAST, [host, 7000, "a", metadata]]], "asked")[0];

test("a slot belongs to the primary of its range, and to none outside of all ranges", () => {
  const reply = [
    [0, 10, ["a", 7000, "id-a"], ["replica", 7001, "id-r"]],
    [11, 11, ["b", 7000, "id-b"]],
    [13, LAST, ["a", 7000, "id-a"]],
  ];
  const slots = parseSlotMap(reply, "asked");
  expect(slots).toHaveLength(LAST + 1);
  expect([0, 10, 11, 12, 13, LAST].map((slot) => slots[slot])).toEqual([
    "a:7000",
    "a:7000",
    "b:7000",
    null,
    "a:7000",
    "a:7000",
  ]);
  expect(new Set(parseSlotMap([], "asked"))).toEqual(new Set([null]));
});

test("an address can have a host name, an IPv4 or an IPv6 host", () => {
  expect(parsedAddress("redis.example")).toBe("redis.example:7000");
  expect(parsedAddress("10.0.0.1")).toBe("10.0.0.1:7000");
  expect(parsedAddress("::1")).toBe("[::1]:7000");
});

test("a missing host means the server that was asked, and an unknown host is ignored", () => {
  expect(parsedAddress("")).toBe("asked:7000");
  expect(parsedAddress(null)).toBe("asked:7000");
  expect(parsedAddress("?")).toBeNull();
  expect(parsedAddress("?", { ip: "10.0.0.1" })).toBe("10.0.0.1:7000");
});

test("an address can be formatted as a URL and parsed from a redirection", () => {
  expect(urlAt("[::1]:7000", "rediss://me:secret@10.0.0.1:1/0")).toBe("rediss://me:secret@[::1]:7000/0");
  expect(addressOf("redis://localhost")).toBe("localhost:6379");
  expect(addressOf("redis://[::1]:7000")).toBe("[::1]:7000");
  expect(parseRedirection("::1:7000", "asked")).toBe("[::1]:7000");
  expect(parseRedirection("10.0.0.1:7000", "asked")).toBe("10.0.0.1:7000");
  expect(parseRedirection(":7000", "asked")).toBe("asked:7000");
  expect(parseRedirection("?:7000", "[::1]")).toBe("[::1]:7000");
});
