/**
 * This program, which watch.ts starts, kills the servers and removes the folders of a process that has ended. It reads
 * commands from its standard input. Only that process has the other end, so the system closes it however the process
 * ends, also after kill -9. Touches only what it was given.
 */
import { rmSync } from "node:fs";
import { createInterface } from "node:readline";

import { until } from "../util/until.ts";
import { cleanUpAfterKill } from "../servers/postgres-folder.ts";
import { isAlive, killTree } from "./process-tree.ts";
import type { WatchdogCommand } from "./watch.ts";

// Ignore signals: only the end of its owner ends it.
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
  await until("the killed processes to exit", () => !killed.some(isAlive));
  for (const folder of folders) {
    cleanUpAfterKill(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
