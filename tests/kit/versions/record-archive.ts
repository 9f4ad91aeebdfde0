/**
 * This program records the archive of a session into tests/conformance/archives, as the current schema version writes it: real
 * turns with thinking, tools, sub-agents, approvals, forms, questions and a stop. Run it before the version is raised:
 * `npm run record-archive`.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { foldAll, listBlocks, SCHEMA_VERSION, snapshot, type Block, type Turn } from "@turnstream/protocol";
import {
  answerQuestion,
  createSession,
  decideApproval,
  defineAgent,
  readHistory,
  sendMessage,
  stopTurn,
  submitForm,
  tool,
} from "@turnstream/server";
import { archiveSession, createWorker, systemEnv } from "@turnstream/server/internal";
import {
  createMemoryLog,
  createMemorySignals,
  createMemoryStore,
  script,
  scriptedModel,
} from "@turnstream/testing";
import { readArchive } from "../backend/read-all-events.ts";
import { until } from "../util/until.ts";
import type { RecordedArchive } from "./recorded-archive.ts";

const FORM = {
  title: "Contact",
  fields: [
    { name: "email", label: "Your e-mail", type: "email", required: true },
    { name: "topic", label: "What about", type: "select", options: ["Beds", "Food"] },
  ],
};
const QUESTION = { questions: [{ question: "Which day?", options: ["Saturday", "Sunday"] }] };
const userId = "usr_linh";
const actor = { tenant: "recorded", user: userId };

const look = tool({ label: "Looking", idempotent: true, run: () => "free beds" });
const secret = tool({
  label: "Checking",
  idempotent: true,
  display: { call: false },
  run: () => "hidden result",
});
const broken = tool({
  label: "Failing",
  run: () => {
    throw new Error("out of order");
  },
});
const described = () => ({ type: "object", properties: { beds: { type: "number" } }, required: ["beds"] });
const input = {
  "~standard": {
    version: 1,
    vendor: "testkit",
    validate: (value: unknown) => ({ value: value as { readonly beds: number } }),
    jsonSchema: { input: described, output: described },
  },
} as const;
const book = tool({
  label: "Booking",
  input,
  approval: () => ({ editable: true }),
  run: ({ beds }) => `booked ${beds} beds`,
});

const helper = defineAgent({
  name: "helper",
  label: "Helper",
  tools: { look },
  model: scriptedModel(({ step }) =>
    step === 0
      ? [script.reasoning("I look it up."), script.toolCall("look", { where: "hut" })]
      : [script.text("The hut has free beds.", { chunk: 5 })],
  ),
});

const guide = defineAgent({
  name: "guide",
  tools: { look, secret, broken, book },
  subAgents: { helper },
  askUser: true,
  requestForms: true,
  title: false,
  model: scriptedModel(({ text, step }) => {
    if (step > 0) return [script.text(`Done with ${text}. It took ${step} steps.`, { chunk: 6 })];
    if (text === "look")
      return [
        script.reasoning("Let me see, in parts.", { chunk: 4 }),
        script.text("I look."),
        script.toolCall("look", { where: "hut" }, { chunks: 3 }),
        script.toolCall("secret", {}),
        script.toolCall("broken", { why: "test" }),
        script.toolCall("helper", { task: "Find beds" }),
      ];
    if (text === "book") return [script.toolCall("book", { beds: 2 }), script.toolCall("book", { beds: 9 })];
    if (text === "contact") return [script.reasoning("A form."), script.toolCall("request_form", FORM)];
    if (text === "ask") return [script.toolCall("ask_user_question", QUESTION)];
    if (text === "stop")
      return [script.text("I begin and"), script.delay(60_000), script.text(" never end.")];
    return [script.text(`You wrote ${text}. \u{1F600} "quotes" and \u0000.`, { chunk: 3 })];
  }),
});

const backend = { store: createMemoryStore(), log: createMemoryLog(), signals: createMemorySignals() };
const { store } = backend;
await store.tenants.create({ id: actor.tenant, name: "Recorded" });
const worker = await createWorker({ ...backend, agents: [guide], pollIntervalMs: 50 });
const { id } = await createSession(backend, actor, { id: "ses_recorded", title: "Hut" }, systemEnv);
const ref = { tenant: actor.tenant, session: id };
let messages = 0;

async function newestTurn(): Promise<Turn | undefined> {
  return (await readHistory(backend, ref, { turns: 1 })).state.turns.last();
}

async function untilBlock(kind: Block["kind"], count = 1): Promise<readonly Block[]> {
  let found: readonly Block[] = [];
  await until(`${count} blocks of the kind ${kind}`, async () => {
    const turn = await newestTurn();
    found = turn === undefined ? [] : listBlocks(turn).filter((block) => block.kind === kind);
    return found.length >= count;
  });
  return found;
}

async function ask(text: string, act: () => Promise<unknown> = async () => undefined): Promise<void> {
  const message = `msg_${++messages}`;
  await sendMessage(backend, ref, { id: message, text, userId });
  await until("the turn to start", async () => (await newestTurn())?.message?.id === message);
  await act();
  await until(`the end of ${text}`, async () => {
    const turn = await newestTurn();
    return turn?.status !== "running" && (await store.running.get(ref)) === null;
  });
}

await ask("look");
await ask("book", async () => {
  await untilBlock("approval", 2);
  const rows = await store.interactions.list(ref);
  for (const [n, { key, digest }] of rows.entries()) {
    const given = { key, userId, ...(digest === null ? {} : { digest }) };
    await decideApproval(
      backend,
      ref,
      n === 0
        ? { ...given, decision: "edit", input: { beds: 3 } }
        : { ...given, decision: "reject", reason: "too many" },
    );
  }
});
await ask("contact");
const [form] = await untilBlock("form");
if (form?.kind !== "form") throw new Error("the turn requests no form");
await submitForm(backend, ref, {
  form: form.form,
  userId,
  values: { email: "linh@example.org", topic: "Food" },
});
await until("the turn after the form", async () => {
  const turn = await newestTurn();
  return turn?.number === 4 && turn.status !== "running" && (await store.running.get(ref)) === null;
});
await ask("ask", async () => {
  const [question] = await untilBlock("question");
  const row = (await store.interactions.list(ref)).find(({ block }) => block === question?.id);
  const answers = [{ question: "q1", selected: ["o2"] }];
  await answerQuestion(backend, ref, { key: row?.key ?? "", userId, answers });
});
await ask("stop", async () => {
  await untilBlock("text");
  await stopTurn(backend, ref, { userId });
});
await ask("hello");
await worker.shutdown();
await archiveSession(backend, ref);

const { archived, header } = await store.archive.header(ref);
if (header === null) throw new Error("nothing was archived");
const events = await readArchive(store, ref);
const turns = (await store.turns.list(ref, { limit: 100 })).toReversed();
const recorded: RecordedArchive = {
  v: SCHEMA_VERSION,
  to: archived,
  events,
  turns: turns.map(({ snapshot: turn, open }) => ({ snapshot: turn, open })),
  header,
  checkpoint: await store.archive.checkpoint(ref),
  state: snapshot(foldAll(events)),
};
const file = join(import.meta.dirname, `../../conformance/archives/v${SCHEMA_VERSION}.json`);
await writeFile(file, `${JSON.stringify(recorded, null, 1)}\n`);
console.log(`${file}: ${events.length} events, ${turns.length} turns`);
await backend.log.close();
process.exit();
