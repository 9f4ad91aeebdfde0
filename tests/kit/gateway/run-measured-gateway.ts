/** The program of `MeasuredGateway`: a gateway on in-memory parts, and the CPU time of its main thread. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { createServer, createSession } from "@turnstream/server";
import { createMemoryLog, createMemorySignals, createMemoryStore } from "@turnstream/testing";
import {
  checkObject,
  chunksOf,
  type Knowledge,
} from "../../../packages/knowledge/src/store/knowledge-part.ts";
import { FEATURES } from "../backend/test-features.ts";
import { measureSlowness } from "../util/cpu-slowness.ts";
import { connectParent, readSettings } from "../processes/parent-process.ts";
import type { MeasuredMessage, MeasuredRequest, MeasuredSettings } from "./measured-gateway.ts";

const { limits = {} } = readSettings() as MeasuredSettings;
const parent = connectParent<MeasuredRequest, MeasuredMessage>();
/** The work of an import in this process. Its statements would be work of PostgreSQL. */
const knowledge: Pick<Knowledge, "put"> = {
  async put(_tenant, _base, object) {
    await chunksOf(await checkObject(object));
    return "created";
  },
};
const store = { ...createMemoryStore(), use: () => knowledge as never };
const backend = { store, log: createMemoryLog(), signals: createMemorySignals() };
const server = createServer({
  ...backend,
  secrets: ["s".repeat(32)],
  limits,
  features: FEATURES,
  onError: (error, { during }) => {
    // There is no worker, and the gateway reports that once.
    if (!String(error).includes("No worker is running"))
      parent.send({ failed: `${during}: ${String(error)}` });
  },
});

const FIELDS = ["text", "shortText", "longText", "number", "email", "phone", "date", "checkbox", "file"];
const OPTIONS = Array.from({ length: 500 }, (_, n) => ({ value: `o${n}`, label: `Option ${n}` }));
const FORM = {
  schema: {
    id: "all",
    title: "All types of fields",
    fields: [
      ...FIELDS.map((type) => ({ name: type, label: type, type, required: false })),
      ...["select", "multiSelect"].map((type) => ({
        name: type,
        label: type,
        type,
        required: false,
        options: OPTIONS,
      })),
    ],
  },
  agent: "guide",
};
const APPROVAL = { actions: [{ name: "trade", label: "Trade", input: { a: "x" } }], editable: true };
const PATTERN = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } };
const DOUBLING = Object.fromEntries(
  Array.from({ length: 40 }, (_, n) => {
    const next = { $ref: `#/$defs/d${n + 1}` };
    return [`d${n}`, { allOf: [next, next] }];
  }),
);
const REFERENCES = { $ref: "#/$defs/d0", $defs: { ...DOUBLING, d40: {} } };

async function createUser(tenant: string, scopes: readonly string[]): Promise<Record<string, string>> {
  await store.tenants.create({ id: tenant, name: tenant });
  const { secret } = await store.keys.create(tenant, { name: "test", scopes: [...scopes] });
  return { "x-api-key": secret, "x-user-id": "an" };
}

const auth = await createUser("acme", []);
const reader = await createUser("other", ["read"]);
const { id: session } = await createSession(backend, { tenant: "acme", user: "an" }, {});
const ref = { tenant: "acme", session };
const place = { turn: "t1", run: "main" };
const requests = [
  { id: "form", kind: "form", request: FORM },
  { id: "pattern", kind: "approval", request: APPROVAL, schema: PATTERN },
  { id: "references", kind: "approval", request: APPROVAL, schema: REFERENCES },
] as const;
for (const [index, request] of requests.entries())
  await store.interactions.request(ref, { ...place, block: `b${index}`, index, ...request });

let before = process.threadCpuUsage();
const watch = { isOn: false };
let longestMs = 0;

function usedMs(): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

async function watchTurns(): Promise<void> {
  while (watch.isOn) {
    before = process.threadCpuUsage();
    await nextTurn();
    longestMs = Math.max(longestMs, usedMs());
  }
}

parent.onMessage((request) => {
  if ("start" in request) {
    globalThis.gc?.();
    longestMs = 0;
    watch.isOn = request.start === "longest";
    before = process.threadCpuUsage();
    if (watch.isOn) void watchTurns();
    parent.send({ started: true });
  } else if ("stop" in request) {
    parent.send({ usedMs: watch.isOn ? longestMs : usedMs() });
    watch.isOn = false;
  } else if ("measureSlowness" in request) parent.send({ slowness: measureSlowness() });
  else {
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    parent.send({ heapUsed: heapUsed + external });
  }
});
parent.send({
  fixtures: {
    url: await server.listen(),
    auth,
    reader,
    session,
    form: "form",
    approvals: ["pattern", "references"],
  },
});
