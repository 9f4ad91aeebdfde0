/**
 * Compares how the gateway answers each route and each socket command with a recording: status, headers and shape of the
 * body for allowed, refused and invalid requests. A difference is a change that clients see. If it is intended,
 * `npx vitest run --project=services recorded-answers -u` records it.
 */
import { payments } from "@turnstream/payments";
import { startPaymentSandbox } from "@turnstream/payments/sandbox";
import type { Route } from "../../src/gateway/http/route.ts";
import { ALL_ROUTES } from "./all-routes.ts";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { tool } from "../../src/agent/define/tool.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sampleCommands } from "./auth/access-matrix.ts";
import { SocketClient } from "./clients.ts";
import { GatewayHarness } from "./gateway-harness.ts";
import { requestInteraction } from "./pending-interactions.ts";
import { requestTestPayment } from "./pending-payments.ts";
import { openRealBackend } from "../engine/real-backend.ts";
import type { HarnessBackend } from "../engine/turn-harness.ts";

/** Fields of errors whose values clients compare. Of all others but `type`, only the kind of value is recorded. */
const OF_ERRORS = new Set(["error", "code", "can_retry"]);
/** Headers that differ from answer to answer, or belong to the connection. */
const VARYING = new Set(["date", "content-length", "connection", "keep-alive", "transfer-encoding"]);

function shapeOf(value: unknown): unknown {
  if (value === null) return null;
  if (Array.isArray(value))
    return [...new Set(value.map((each) => JSON.stringify(shapeOf(each))))]
      .toSorted()
      .map((each) => JSON.parse(each) as unknown);
  if (typeof value !== "object") return typeof value;
  const isError = "can_retry" in value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, each]) => [
        name,
        name === "type" || (isError && OF_ERRORS.has(name)) ? (each as unknown) : shapeOf(each),
      ]),
  );
}

const agent = defineAgent({
  name: "guide",
  title: false,
  tools: { draw: tool({ label: "Drawing", idempotent: true, run: () => "drawn" }) },
  model: scriptedModel(({ text, step }) => {
    if (text === "hang") return [script.hang()];
    return text === "draw" && step === 0 ? [script.toolCall("draw")] : [script.text("Done.")];
  }),
});

let backend: HarnessBackend;
let harness: GatewayHarness;
let sandbox: Awaited<ReturnType<typeof startPaymentSandbox>>;
/** Values of path parameters, by the name of a parameter, or of a route and a parameter. */
let ids: Record<string, string>;
let foreign: Readonly<Record<string, string>>;

/** What a request has beside its path. */
interface Input {
  readonly query?: string;
  readonly body?: unknown;
  /** A body that is not JSON. */
  readonly bytes?: string;
}

/** Routes that are not here need nothing. */
const VALID: Readonly<Record<string, Input>> = {
  "POST /tokens": { body: { user_id: "bo" } },
  "POST /sessions": { body: { title: "Trip" } },
  "PATCH /sessions/{session}": { body: { title: "Journey" } },
  "POST /sessions/{session}/messages": { body: { text: "hello" } },
  "POST /chats/{session}/messages": { body: { message: "hello", stream: true } },
  "POST /sessions/{session}/files": { query: "?name=a.txt", bytes: "text" },
  "POST /sessions/{session}/uploads": {
    body: { name: "b.txt", media_type: "text/plain", size: 4, sha256: `${"A".repeat(43)}=` },
  },
  "POST /sessions/{session}/interactions/{interaction}/decide": {
    body: { decision: "approve", always: true },
  },
  "POST /sessions/{session}/interactions/{interaction}/answer": {
    body: { answers: [{ question: "meal", selected: ["dinner"] }] },
  },
  "POST /sessions/{session}/interactions/{interaction}/submit": { body: { values: { email: "an@x.org" } } },
  "PUT /sessions/{session}/interactions/{interaction}/draft": { body: { values: { email: "an" } } },
  "GET /payments": { query: "?flagged=true" },
  "POST /payments/{payment}/resolve": { body: { note: "Refunded." } },
  "POST /knowledge/{base}/objects": { body: { objects: [{ id: "o", text: "text" }] } },
  "PATCH /memories/{memory}": { body: { pinned: true } },
  "POST /webhooks": { body: { url: "http://127.0.0.1:9/hook" } },
  "PUT /limits/tenant": { body: { limits: { requests_per_minute: 3_000 } } },
  "PUT /limits/users": { body: { limits: { requests_per_minute: 3_000 } } },
  "PUT /limits/users/{user}": { body: { limits: { requests_per_minute: 3_000 } } },
};

/** Routes that remove what other routes need come later, and the one that removes the session comes last. */
function rankOf({ method, path }: Route): number {
  if (method !== "DELETE") return 0;
  return path === "/sessions/{session}" ? 2 : 1;
}

beforeAll(async () => {
  backend = await openRealBackend();
  sandbox = await startPaymentSandbox();
  const options = { providers: [sandbox.provider()] as const, publicUrl: "http://127.0.0.1:9" };
  harness = await GatewayHarness.open(backend, { features: [payments(options)] });
  options.publicUrl = harness.server.url;
  const { stage } = harness;
  const { actor } = stage;
  const { store } = backend;
  await stage.worker([agent]);
  const newSession = async () => (await harness.json("POST", "/sessions", {})).session_id as string;
  const ref = { tenant: actor.tenant, session: await newSession() };
  const request = (kind: "approval" | "question" | "form", at = ref) => requestInteraction(backend, at, kind);
  const { id: turn } = await stage.ask(ref, "draw");
  // One session has a stopped turn, another one a running turn and a message that waits.
  const stopped = { ...ref, session: await newSession() };
  const running = { ...ref, session: await newSession() };
  for (const each of [stopped, running]) {
    await stage.send(each, "hang");
    await stage.until(each, 60_000, ({ turns }) => turns.last() ?? null);
  }
  await stage.stop(stopped);
  const { id: stoppedTurn } = await stage.ended(stopped, () => true);
  // A text of this length is kept beside the log.
  const message = await stage.send(running, "x".repeat(100_000));
  const { snapshot } = await harness.json("GET", `/sessions/${running.session}/snapshot`);
  const blob = String(snapshot.waiting[0].whole.url).replace("/api/v1/blobs/", "");
  await store.memories.save(actor, { id: "memory-1", text: "likes tea" });
  await harness.json("POST", "/knowledge/base/objects", { objects: [{ id: "first", text: "text" }] });
  const file = await harness.json("POST", `/sessions/${ref.session}/files?name=c.txt`, { text: "c" });
  const share = await harness.json("POST", `/sessions/${ref.session}/shares`, {});
  const url = "http://127.0.0.1:9/first";
  const hook = await harness.json("POST", "/webhooks", { url, events: ["payment.refunded"] });
  await store.webhooks.enqueue(ref, { type: "payment.refunded", key: "p1/first", data: { turn_id: turn } });
  const delivery = await stage.until(ref, 60_000, async () => {
    const { deliveries } = await harness.json("GET", `/webhooks/${hook.webhook_id}/deliveries`);
    return deliveries[0].ended_at === null ? null : (deliveries[0].delivery_id as string);
  });
  const interaction = "/sessions/{session}/interactions/{interaction}";
  const payment = await requestTestPayment(backend, ref);
  const cancelled = await requestTestPayment(backend, ref);
  const form = await request("form");
  ids = {
    session: ref.session,
    turn,
    message,
    delivery,
    file: file.id,
    share: share.share_id,
    token: share.token,
    agent: "broker",
    tool: "trade",
    base: "base",
    object: "first",
    memory: "memory-1",
    payment: payment.id,
    provider: "sandbox",
    webhook: hook.webhook_id,
    user: actor.user,
    interaction: form,
    [`POST ${interaction}/decide interaction`]: await request("approval"),
    // A message to a session answers its questions.
    [`POST ${interaction}/answer session`]: stopped.session,
    [`POST ${interaction}/answer interaction`]: await request("question", stopped),
    [`POST ${interaction}/dismiss session`]: stopped.session,
    [`POST ${interaction}/dismiss interaction`]: await request("question", stopped),
    [`POST ${interaction}/decline interaction`]: await request("form"),
    // After its draft was saved and read.
    [`POST ${interaction}/submit interaction`]: await request("form"),
    "POST /sessions/{session}/payments/{payment}/cancel payment": cancelled.id,
    "POST /sessions/{session}/turns/{turn}/retry session": stopped.session,
    "POST /sessions/{session}/turns/{turn}/retry turn": stoppedTurn,
    "DELETE /sessions/{session}/messages/{message} session": running.session,
    "GET /blobs/{token} token": blob,
  };
  for (const { method, path } of ALL_ROUTES)
    if (/^\/payments\/.*\{token\}$/.test(path)) ids[`${method} ${path} token`] = payment.token;
  await store.tenants.create({ id: "other", name: "Other" });
  const { secret } = await store.keys.create("other", { name: "k", scopes: [] });
  foreign = { "x-api-key": secret, "x-user-id": actor.user };
});

afterAll(async () => {
  await harness.close();
  await sandbox.close();
});

interface Answer {
  readonly status: number;
  readonly headers: readonly string[];
  /** The shape of a JSON body; empty for others. */
  readonly shape: string;
}

async function record(
  { method, path }: Route,
  { query = "", body, bytes }: Input,
  auth: Readonly<Record<string, string>>,
): Promise<Answer> {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(ids[`${method} ${path} ${name}`] ?? ids[name] ?? "x"),
  );
  const leave = new AbortController();
  const content = bytes ?? (body === undefined ? undefined : JSON.stringify(body));
  const type = bytes === undefined ? "application/json" : "text/plain";
  const response = await fetch(`${harness.server.url}/api/v1${filled}${query}`, {
    method,
    redirect: "manual",
    signal: leave.signal,
    headers: { ...auth, ...(content === undefined ? {} : { "content-type": type }) },
    ...(content === undefined ? {} : { body: content }),
  });
  const headers = [...response.headers]
    .filter(([name]) => !VARYING.has(name))
    .map(([name, value]) => `${name}: ${value.replaceAll(/[\w.-]{20,}|\d{4,}|127\S+/g, "*")}`);
  // A stream of events doesn't end.
  const isStream = path.endsWith("/events") && response.ok;
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  const answer = isStream ? "" : await response.text();
  if (isStream) leave.abort();
  const shape = isJson ? JSON.stringify(shapeOf(JSON.parse(answer))) : "";
  return { status: response.status, headers, shape };
}

/** A block of lines per route: status, headers that not all answers have, and body. */
function print(recorded: Readonly<Record<string, Readonly<Record<string, Answer>>>>): string {
  const all = Object.values(recorded).flatMap((answers) => Object.values(answers));
  const [first] = all;
  const common =
    first?.headers.filter((header) => all.every(({ headers }) => headers.includes(header))) ?? [];
  const blocks = Object.entries(recorded).map(([name, answers]) => {
    const lines = Object.entries(answers).map(([about, { status, headers, shape }]) => {
      const own = headers.filter((header) => !common.includes(header)).toSorted();
      return [`  ${about}: ${status}`, ...own.map((header) => `    ${header}`), `    ${shape}`].join("\n");
    });
    return [name, ...lines].join("\n");
  });
  return [`all answers\n${common.toSorted().join("\n")}`, ...blocks, ""].join("\n\n");
}

test("each route answers as recorded", async () => {
  const { auth } = harness.server;
  const recorded: Record<string, Record<string, Answer>> = {};
  for (const route of ALL_ROUTES.toSorted((a, b) => rankOf(a) - rankOf(b))) {
    const name = `${route.method} ${route.path}`;
    const valid = VALID[name] ?? (route.body === undefined ? {} : { body: {} });
    const refused: Record<string, Answer> = {};
    if (route.scope !== null) {
      refused["without credentials"] = await record(route, valid, {});
      if (/\{(?!token)/.test(route.path)) refused["of another tenant"] = await record(route, valid, foreign);
    }
    if (route.body !== undefined)
      refused["with an unknown field"] = await record(route, { ...valid, body: { unknown: 1 } }, auth);
    if (route.ignoresQuery !== true)
      refused["with an unknown parameter"] = await record(route, { ...valid, query: "?unknown=1" }, auth);
    recorded[name] = { ...refused, valid: await record(route, valid, auth) };
  }
  await expect(print(recorded)).toMatchFileSnapshot("recorded-answers/routes.txt");
});

test("each command answers as recorded", async () => {
  const { session_id } = await harness.json("POST", "/sessions", {});
  const at = { tenant: harness.stage.actor.tenant, session: session_id };
  const request = (kind: "approval" | "question" | "form") => requestInteraction(backend, at, kind);
  const payment = async () => ({ payment_request_id: (await requestTestPayment(backend, at)).id });
  /** What a command is about, made just before it. */
  const ABOUT: Readonly<Record<string, () => Promise<object>>> = {
    decide: async () => ({ approval_key: await request("approval") }),
    answer: async () => ({
      approval_key: await request("question"),
      answers: [{ question: "meal", selected: ["dinner"] }],
    }),
    dismiss: async () => ({ approval_key: await request("question") }),
    submit: async () => ({ form_request_id: await request("form"), values: { email: "an@x.org" } }),
    decline: async () => ({ form_request_id: await request("form") }),
    "send for a form": async () => ({ resume_form_request_id: await request("form") }),
    // Whether `stop` finds the turn of `send` must not depend on which is faster.
    stop: async () => (await harness.stage.ended(at, () => true), {}),
    cancel_payment: payment,
    refresh_payment: payment,
  };
  const socket = await SocketClient.open(harness.server, { dialect: "native" });
  const lines: string[] = [];
  for (const [, sample] of sampleCommands(session_id)) {
    const { type, ...fields } = sample as { type: string };
    const name = type + ("resume_form_request_id" in fields ? " for a form" : "");
    const command = { type, ...fields, ...(await ABOUT[name]?.()) };
    const cases: Readonly<Record<string, object>> = {
      "with an unknown field": { ...command, unknown: 1 },
      "of an unknown session": { ...command, session_id: "nothing" },
      valid: command,
    };
    for (const [about, sent] of Object.entries(cases))
      lines.push(`${name} ${about}: ${JSON.stringify(shapeOf(await socket.request({ ...sent })))}`);
  }
  socket.close();
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("recorded-answers/commands.txt");
});
