/**
 * This program is a worker on PostgreSQL and Redis whose agent asks a model provider over HTTP. The provider decides
 * the answers of the model, and counts the requests. The tool `crash` kills this process.
 *
 * Invariant: the worker has the default settings of production, except for those that its scenario names.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createAnthropic } from "@ai-sdk/anthropic";
import { defineAgent, startWorker, tool } from "@turnstream/server";
import { FEATURES } from "@turnstream/testkit/backend/test-features.ts";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";
import { createNamedEnv } from "./named-env.ts";

export interface ModelWorkerSettings {
  readonly name: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** The URL of the model provider. */
  readonly modelUrl: string;
  /** The duration of its lease. @default the worker's default */
  readonly ttlMs?: number;
  /** The file from which shifted-clock.ts reads how many milliseconds the clock of this process is off. */
  readonly clockFile?: string;
  /** Where it records its appends and reads. @default nothing is recorded */
  readonly historyFolder?: string;
}

export type ModelWorkerMessage =
  | { readonly ready: true }
  | { readonly lost: true }
  | { readonly left: true }
  | { readonly failed: string };

/** Long enough for the worker to commit that the tool has started. */
const CRASH_MS = 300;

const settings = readSettings() as ModelWorkerSettings;
const { name, databaseUrl, redisUrl, modelUrl, ttlMs, historyFolder } = settings;
const parent = connectParent<never, ModelWorkerMessage>();

const described = () => ({ type: "object", properties: {} });
const crash = tool({
  label: "Crash",
  idempotent: true,
  input: {
    "~standard": {
      version: 1,
      vendor: "chaos",
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: described, output: described },
    },
  },
  run: async () => {
    await sleep(CRASH_MS);
    process.kill(process.pid, "SIGKILL");
  },
});

const { store, log, signals } = await openBackend({
  databaseUrl,
  redisUrl,
  name,
  hasLeasePool: true,
  ...(historyFolder === undefined ? {} : { historyFolder }),
});
const worker = await startWorker({
  env: createNamedEnv(name),
  store,
  log,
  signals,
  agents: [
    defineAgent({
      name: "main",
      model: createAnthropic({ baseURL: modelUrl, apiKey: "chaos" })("stand-in"),
      tools: { crash },
      title: false,
    }),
  ],
  features: FEATURES,
  ...(ttlMs === undefined ? {} : { leaseTtlMs: ttlMs }),
  onLeaseLost: () => parent.send({ lost: true }),
  onError: (error, { during }) => parent.send({ failed: `${during}: ${String(error)}` }),
});

process.on("SIGTERM", () => void shutDown());
parent.send({ ready: true });

async function shutDown(): Promise<void> {
  await worker.shutdown();
  parent.send({ left: true });
  process.exit();
}
