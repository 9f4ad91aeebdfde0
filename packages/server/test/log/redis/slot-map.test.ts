/** Out of what several servers of a cluster say, who keeps which slot, and where they are. */
import { describe, expect, test } from "vitest";
import { addressOf, parseRedirection, urlAt } from "../../../src/log/redis/connection/address.ts";
import {
  mergeTopologyViews,
  parseTopologyView,
  type TopologyView,
} from "../../../src/log/redis/topology/slot-map.ts";

const LAST = 16_383;

/** A view of three servers; each may be left out, and has an epoch. */
function view(self: string, owners: Record<string, [from: number, to: number, epoch: number]>): TopologyView {
  const slots = Object.entries(owners).map(([id, [from, to]]) => [from, to, [`host-${id}`, 7000, id]]);
  const nodes = Object.entries(owners).map(
    ([id, [, , epoch]]) => `${id} x:1@2 ${id === self ? "myself,master" : "master"} - 0 0 ${epoch} connected`,
  );
  return parseTopologyView(slots, nodes.join("\n"), "asked");
}

/** One server keeps everything, and is said to be there. */
const says = (host: string | null, more?: unknown) =>
  parseTopologyView([[0, LAST, [host, 7000, "a", more]]], "", "asked");

const at = (host: string | null, more?: unknown) => ownerAt([says(host, more)], 0);

const ownerAt = (views: readonly TopologyView[], slot: number) => mergeTopologyViews(views)[slot];

describe("servers that disagree", () => {
  test("the highest epoch keeps a slot, in whichever order they answer", () => {
    const stale = view("c", { a: [0, LAST, 3] });
    const old = view("a", { a: [0, LAST, 3] });
    const promoted = view("b", { b: [0, LAST, 4] });
    for (const views of [
      [stale, promoted, old],
      [promoted, stale],
      [old, promoted],
    ]) {
      expect(ownerAt(views, 5)).toBe("host-b:7000");
    }
    expect(ownerAt([stale], 5)).toBe("host-a:7000");
  });

  test("one that disowns a slot doesn't keep it, whatever its epoch", () => {
    const source = view("a", { a: [1, LAST, 9], b: [0, 0, 2] });
    const stale = view("c", { a: [0, LAST, 9] });
    expect(ownerAt([stale, source], 0)).toBe("host-b:7000");
    expect(ownerAt([stale, source], 1)).toBe("host-a:7000");
  });

  test("where each points to the other, somebody is better than nobody", () => {
    const source = view("a", { a: [1, LAST, 9], b: [0, 0, 2] });
    const target = view("b", { a: [0, LAST, 9] });
    expect(ownerAt([source, target], 0)).toMatch(/^host-[ab]:7000$/);
  });

  test("a slot that nobody names has nobody", () => {
    expect(ownerAt([view("a", { a: [0, 10, 1] })], 11)).toBeNull();
    expect(mergeTopologyViews([])).toHaveLength(LAST + 1);
  });

  test("without epochs the first one is believed", () => {
    const views = ["a", "b"].map((host) => parseTopologyView([[0, LAST, [host, 1, host]]], null, "asked"));
    expect(ownerAt(views, 0)).toBe("a:1");
  });
});

describe("an address", () => {
  test("may be a name, an IPv4 or an IPv6 address", () => {
    expect(at("redis.example")).toBe("redis.example:7000");
    expect(at("10.0.0.1")).toBe("10.0.0.1:7000");
    expect(at("::1")).toBe("[::1]:7000");
  });

  test("that isn't said is the one that was asked; one that isn't known is left out", () => {
    expect(at("")).toBe("asked:7000");
    expect(at(null)).toBe("asked:7000");
    expect(at("?")).toBeNull();
    expect(at("?", { ip: "10.0.0.1" })).toBe("10.0.0.1:7000");
  });

  test("is the one that most name, so that a server doesn't change its place with who is asked", () => {
    for (const hosts of [
      ["x", "a", "x"],
      ["a", "x", "x"],
    ]) {
      expect(
        ownerAt(
          hosts.map((host) => says(host)),
          0,
        ),
      ).toBe("x:7000");
    }
    expect(ownerAt([says("y"), says("x")], 0)).toBe(ownerAt([says("x"), says("y")], 0));
  });

  test("goes into a URL and comes out of a redirection", () => {
    expect(urlAt("[::1]:7000", "rediss://me:secret@10.0.0.1:1/0")).toBe("rediss://me:secret@[::1]:7000/0");
    expect(addressOf("redis://localhost")).toBe("localhost:6379");
    expect(addressOf("redis://[::1]:7000")).toBe("[::1]:7000");
    expect(parseRedirection("::1:7000", "asked")).toBe("[::1]:7000");
    expect(parseRedirection("10.0.0.1:7000", "asked")).toBe("10.0.0.1:7000");
    expect(parseRedirection(":7000", "asked")).toBe("asked:7000");
    expect(parseRedirection("?:7000", "[::1]")).toBe("[::1]:7000");
  });
});
