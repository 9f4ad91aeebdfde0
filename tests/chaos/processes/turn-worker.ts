/**
 * This program is a worker on PostgreSQL and Redis that tests kill, freeze and replace. Its models play plans. Its
 * tools write their effects to a table over their own connections.
 *
 * Invariant: the tools ignore their abort signal, so that a test sees every effect that a worker could not prevent.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, defineAgent, type Tool, tool } from "@turnstream/server";
import { createWorker } from "@turnstream/server/internal";
import { scriptedModel } from "@turnstream/server/testing";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { featuresOf, withFeatures } from "@turnstream/testkit/backend/test-features.ts";
import { createPayments, type PaymentSettings } from "@turnstream/testkit/payments/payment-settings.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { createNamedEnv } from "./named-env.ts";
import { createPlanScript } from "../plan-script.ts";
import { formatToolResult } from "../turn-plan.ts";

export interface WorkerSettings {
  readonly name: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** The folder in which it records what its log does. */
  readonly historyFolder: string;
  readonly ttlMs: number;
  /** Which version of the agent's code to run. */
  readonly version: "a" | "b";
  /** If true, it loads everything and then waits for a `StartCommand`. */
  readonly isPaused?: boolean;
  /**
   * If true, it keeps running after it has lost its lease, so that a test can observe it. Otherwise it exits, as a
   * worker should.
   */
  readonly stays?: boolean;
  /** If true, it has the tool that needs an approval. */
  readonly asks?: boolean;
  /** Lets its agent request payments. @default none */
  readonly payments?: PaymentSettings;
  /** A receiver of webhooks on this machine, as "host:port". Requests to it have the worker's name as `user-agent`. */
  readonly receiver?: string;
}

export interface StartCommand {
  readonly start: true;
}

export type WorkerMessage =
  | { readonly loaded: true }
  | { readonly ready: true }
  | { readonly lost: true }
  | { readonly left: true }
  | { readonly failed: string };

/** Time for other workers to take over its turns. */
const EXIT_DELAY_MS = 500;
const RETRY_MS = 200;

interface Input {
  readonly key: string;
  readonly ms: number;
  readonly wait?: number;
}

const settings = readSettings() as WorkerSettings;
const { name, databaseUrl, redisUrl, historyFolder, ttlMs, version } = settings;
const parent = connectParent<StartCommand, WorkerMessage>();

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

const properties = { key: { type: "string" }, ms: { type: "number" }, wait: { type: "number" } };
const described = () => ({ type: "object", properties, required: ["key", "ms"] });
const input = {
  "~standard": {
    version: 1,
    vendor: "chaos",
    validate: (value: unknown) => {
      const isRight = typeof value === "object" && value !== null && "key" in value;
      return isRight ? { value: value as Input } : { issues: [{ message: "key is missing" }] };
    },
    jsonSchema: { input: described, output: described },
  },
} as const;

function toolOf(idempotent: boolean, label: string, { isAsked = false, isHidden = false } = {}): Tool {
  return tool({
    label,
    input,
    idempotent,
    display: { call: !isHidden },
    approval: isAsked && ((asked) => ({ timeoutMs: ((asked as Input).wait ?? 300) * 1_000, editable: true })),
    run: async ({ key, ms }, context) => {
      await insertEffect([key, name, String(Date.now())].map(quoted).join());
      context.progress(`at ${key}`);
      await sleep(ms);
      return formatToolResult(key);
    },
  });
}

/** Retries while the disk of the database is full: the table of effects is on the same disk as the store. */
async function insertEffect(values: string): Promise<void> {
  const statement = `insert into effects values (${values})`;
  while (true) {
    try {
      await runSql(databaseUrl, statement);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== "53100") throw error;
      await sleep(RETRY_MS);
    }
  }
}

const model = scriptedModel(createPlanScript(Math.random));
const retry = { maxAttempts: 8, initialDelayMs: 50 };

/**
 * Version b has other instructions, another order of tools, one more tool and another sub-agent under the same name. It
 * lacks some tools and a sub-agent, shows a tool that was hidden, and has a tool in place of a sub-agent.
 */
function mainAgent(): Agent {
  const isA = version === "a";
  const again = toolOf(true, isA ? "Again" : "Once more");
  const once = toolOf(false, isA ? "Once" : "Only once");
  const extra = toolOf(false, "Extra");
  const added = toolOf(true, "Added");
  const inner = defineAgent({ name: "inner", model, tools: { again, once }, retry });
  const tools: Record<string, Tool> = isA ? { again, once } : { once, again };
  const veiled = toolOf(true, "Veiled", { isHidden: true });
  const turned = toolOf(true, "Turned", { isHidden: isA });
  const passing = defineAgent({ name: "passing", model, tools: { again }, retry });
  const helper = defineAgent({
    name: isA ? "helper" : "helper2",
    label: isA ? "Helper" : "Assistant",
    model,
    instructions: `You help, version ${version}.`,
    tools,
    subAgents: { inner },
    retry,
  });
  return defineAgent({
    name: "main",
    model,
    instructions: `You are version ${version}.`,
    tools: {
      ...(isA ? { ...tools, extra, veiled, turned } : { added, ...tools, turned, turning: again }),
      ...(settings.asks === true ? { asked: toolOf(false, "Asked", { isAsked: true }) } : {}),
    },
    subAgents: isA ? { helper, passing, turning: passing } : { helper },
    shareThought: true,
    featureTools: settings.payments === undefined ? [] : ["request_payment"],
    retry,
  });
}

const { store, log, signals } = await openBackend({
  databaseUrl,
  redisUrl,
  historyFolder,
  name,
  database: { max: 6 },
});

if (settings.isPaused === true) {
  parent.send({ loaded: true });
  await new Promise((resolve) => process.once("message", resolve));
}
const worker = await createWorker({
  env: createNamedEnv(name),
  store,
  log,
  signals,
  agents: [mainAgent()],
  leaseTtlMs: ttlMs,
  features: withFeatures(
    settings.payments === undefined ? [] : [createPayments(settings.payments)],
    await featuresOf(store),
  ),
  ...(settings.receiver === undefined ? {} : sendsWebhooksTo(settings.receiver)),
  onLeaseLost: () => {
    parent.send({ lost: true });
    if (settings.stays !== true) setTimeout(() => process.exit(1), EXIT_DELAY_MS);
  },
  onError: (error, { during }) => parent.send({ failed: `${during}: ${String(error)}` }),
});

/** The lease of a delivery ends 30 seconds after `timeoutMs`. Until then, those of killed workers count as being sent. */
function sendsWebhooksTo(receiver: string) {
  return {
    fetchPolicy: { userAgent: name },
    webhooks: { allow: [receiver], timeoutMs: 1_000, maxConcurrent: 1_000, maxConcurrentPerEndpoint: 1_000 },
  };
}

process.on("SIGTERM", () => void shutDown());
parent.send({ ready: true });

async function shutDown(): Promise<void> {
  // Without draining, so that every deploy interrupts steps.
  await worker.shutdown({ drainMs: 0 });
  parent.send({ left: true });
  process.exit();
}
