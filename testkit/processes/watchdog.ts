/**
 * A program of its own, started by watch.ts: ends the servers of a process that is no more. It reads orders
 * from its standard input, whose other end only that process holds; however that process ends, kill -9
 * included, the system closes it. Never touches what it was not told of.
 */
import { rmSync } from "node:fs";
import { createInterface } from "node:readline";

import { until } from "../util/until.ts";
import { cleanUpAfterKill } from "../servers/postgres-folder.ts";
import { isAlive, killTree } from "./process-tree.ts";
import type { WatchdogCommand } from "./watch.ts";

// Only the end of its owner ends it.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => undefined);

const pids = new Set<number>();
const folders = new Set<string>();

console.log("ready");
try {
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line) as WatchdogCommand;
    if ("watch" in order) pids.add(order.watch);
    else if ("forget" in order) pids.delete(order.forget);
    else if ("keep" in order) folders.add(order.keep);
    else folders.delete(order.removed);
  }
} finally {
  const killed = [...pids].flatMap(killTree);
  await until("the killed processes to be gone", () => !killed.some(isAlive));
  for (const folder of folders) {
    cleanUpAfterKill(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
