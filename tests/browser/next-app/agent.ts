/**
 * The agent of the test app: it asks for what the message names, or writes an answer that stops in the middle. One build
 * runs turns in the server of Next.js, or leaves them to a worker.
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineAgent, tool, type TurnstreamOptions } from "@turnstream/server";
import { script, scriptedModel } from "@turnstream/server/testing";

const CALLS: Readonly<Record<string, ReturnType<typeof script.toolCall>>> = {
  approval: script.toolCall("write_note"),
  question: script.toolCall("ask_user_question", {
    questions: [{ question: "Which color?", options: ["Red", "Green"] }],
  }),
  form: script.toolCall("request_form", {
    id: "contact",
    title: "Where to write to",
    fields: [{ name: "email", label: "Email", type: "shortText", required: true }],
  }),
};

/** The test creates this file to let the answer continue. Next.js would add what it could read to the build. */
const isGateOpen = () => existsSync(/*turbopackIgnore: true*/ process.env["GATE"] ?? "");

async function untilGateIsOpen(_ms: number, signal: AbortSignal): Promise<void> {
  while (!isGateOpen()) await sleep(20, undefined, { signal });
}

const model = scriptedModel(
  ({ text, step }) => {
    const call = CALLS[text];
    if (step === 0 && call !== undefined) return [call];
    if (text.startsWith("long"))
      return [script.text(`First half of ${text}.`), script.delay(1), script.text(`Second half of ${text}.`)];
    if (text === "code") return [script.text("```ts\nlet a = 1;\n```\n")];
    return [script.text(`Finished: ${text}.`)];
  },
  { sleep: untilGateIsOpen },
);

const helper = defineAgent({
  name: "helper",
  title: false,
  model,
  askUser: true,
  requestForms: true,
  tools: { write_note: tool({ label: "Write a note", approval: true, run: () => "Noted." }) },
});

export default {
  agents: [helper],
  user: (request) => /user=(\w+)/.exec(request.headers.get("cookie") ?? "")?.[1] ?? null,
  runsTurns: process.env["RUNS_TURNS"] === "true",
} satisfies TurnstreamOptions;
