/**
 * This program is a worker on PostgreSQL and Redis that answers slowly, so that tests can kill it. Does not serve
 * pages.
 */
import { createWorker } from "@turnstream/server/internal";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";
import { longAnswerAgent } from "../agents.ts";
import type { BackendUrls } from "../test-environment.ts";

export interface WorkerSettings extends BackendUrls {
  readonly name: string;
  readonly paceMs: number;
  readonly ttlMs: number;
}

const { name, paceMs, ttlMs, ...urls } = readSettings() as WorkerSettings;
const parent = connectParent<never, { readonly ready: true }>();
const { store, log, signals } = await openBackend({
  ...urls,
  database: { max: 6 },
});
await createWorker({
  store,
  log,
  signals,
  agents: [longAnswerAgent(null, paceMs)],
  leaseTtlMs: ttlMs,
  onLeaseLost: () => process.exit(1),
});
parent.send({ ready: true });
