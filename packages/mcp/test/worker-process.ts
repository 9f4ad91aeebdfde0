/** A worker process for tests to kill. Its agent calls a tool of an MCP server that never responds. */
import { mcpServer } from "../src/server.ts";
import { createWorker } from "../../server/src/worker/worker.ts";
import { openBackendOn } from "../../server/test/engine/real-backend.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";
import { Caller } from "./fake-call.ts";
import { oddStdio } from "./everything.ts";

export interface WorkerSettings {
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly keyPrefix: string;
  readonly pids: string;
}

/** The same agent for the worker that is killed and for the one that continues. */
export function hangingCaller(pids: string): Caller {
  return new Caller(mcpServer({ name: "odd", ...oddStdio({ ODD_PIDS: pids }) }), [["odd_hang"], ["odd_ok"]]);
}

if (process.argv[2] !== undefined) {
  const { redisUrl, databaseUrl, keyPrefix, pids } = readSettings() as WorkerSettings;
  const parent = connectParent<never, { readonly ready: true }>();
  const { store, log, signals } = await openBackendOn(redisUrl, databaseUrl, keyPrefix);
  await createWorker({
    store,
    log,
    signals,
    agents: [hangingCaller(pids).agent],
    leaseTtlMs: 5_000,
    pollIntervalMs: 100,
  });
  parent.send({ ready: true });
}
