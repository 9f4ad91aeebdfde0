/** Moves a slot from one primary of a Redis Cluster to another while writers and readers use it. */
import { type RedisCluster, startRedisCluster } from "@turnstream/testkit/servers/start-redis-cluster.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isLogError } from "../../../src/log/errors.ts";
import type { Log } from "../../../src/log/log.ts";
import { createRedisLog } from "../../../src/log/redis/create-redis-log.ts";
import { slotOf } from "../../../src/log/redis/topology/slot-map.ts";
import { idOf, ownerOf, slotOfSession } from "./cluster-slots.ts";
import { Reader, readAll, describeEntry, sessionStart, takeover, titles, sessionRef } from "../drafts.ts";

let cluster: RedisCluster;
let log: Log;
beforeAll(async () => {
  cluster = await startRedisCluster();
  log = await createRedisLog({ url: cluster.nodes.map(({ url }) => url) });
});
afterAll(async () => {
  await log.close();
  await cluster.stop();
});

test("slotOf returns the same slot as Redis", async () => {
  for (const key of ["a", "ts:{x}:head", "{}b", "a{b}c{d}", "{漢}", "x{", "{}{a}"]) {
    expect(slotOf(key)).toBe(await cluster.nodes[0]?.command("CLUSTER", "KEYSLOT", key));
  }
});

test("the log continues on the new server after a claim, and readers follow", async () => {
  const session = sessionRef("moving");
  const slot = slotOfSession(session);
  const append = async (epoch: number, counter: number, text: string) => {
    try {
      await log.append(session, { writer: `w${epoch}`, epoch, counter, events: titles(text) });
      return "added";
    } catch (error) {
      return isLogError(error) ? error.code : String(error);
    }
  };
  await log.claim(session, { epoch: 1, writer: "w1", event: sessionStart(session), archivedUpTo: "0-0" });
  const readers = [new Reader(log, session, { after: "0-0" }), new Reader(log, session, { after: "1-1" })];
  expect(await append(1, 1, "before")).toBe("added");

  const [from, to] = await ownerOf(cluster, slot);
  await to.command("CLUSTER", "SETSLOT", slot, "IMPORTING", await idOf(from));
  await from.command("CLUSTER", "SETSLOT", slot, "MIGRATING", await idOf(to));
  expect(await append(1, 2, "while it is prepared")).toBe("added");
  const keys = (await from.command("CLUSTER", "GETKEYSINSLOT", slot, 100)) as string[];
  expect(keys).toHaveLength(3);
  await from.command("MIGRATE", "127.0.0.1", to.port, "", 0, 5_000, "KEYS", ...keys);
  // The entries were migrated, but the server is another one. Only a claim can confirm that all entries are there.
  expect(await append(1, 3, "too early")).toBe("UNCLAIMED");
  await log.claim(session, { epoch: 2, writer: "w2", event: takeover(), archivedUpTo: "0-0" });
  expect(await append(2, 1, "on its way")).toBe("added");
  for (const node of [to, from]) await node.command("CLUSTER", "SETSLOT", slot, "NODE", await idOf(to));
  expect(await append(2, 2, "after")).toBe("added");

  const all = ["session.start", "before", "while it is prepared", "turn.takeover", "on its way", "after"];
  expect((await readAll(log, session)).map(describeEntry)).toEqual(all);
  await readers[0]?.until(({ entries }) => entries.length === all.length);
  expect(readers[0]?.texts).toEqual(all);
  await readers[1]?.until(({ entries }) => entries.length === all.length - 1);
  expect(await append(2, 3, "live")).toBe("added");
  for (const reader of readers) await reader.until(({ texts }) => texts.at(-1) === "live");
  for (const reader of readers) await reader.stop();
});
