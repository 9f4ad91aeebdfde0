/**
 * `longAnswerAgent` writes a long answer, and `askingAgent` asks the user before it acts. Both are for tests without a
 * story.
 */
import { type Agent, defineAgent, tool } from "@turnstream/server";
import { script, scriptedModel } from "@turnstream/server/testing";

/** Waits before each chunk. Rejects when the signal aborts. */
export type Pause = (ms: number, signal: AbortSignal) => Promise<unknown>;

export const LONG_ANSWER = "long-answer";
export const ASKING = "asking";
const WORD_COUNT = 60;

/** The answer of `longAnswerAgent`. All of its tokens differ, so that a test notices a gap or a duplicate. */
export function answerTo(text: string): string {
  return Array.from({ length: WORD_COUNT }, (_, n) => `${text}-${n + 1}`).join(" ");
}

export function longAnswerAgent(pause: Pause | null, paceMs = 20): Agent {
  const replies = ({ text }: { readonly text: string }) => [
    script.text(answerTo(text), { chunk: 7, paceMs }),
  ];
  return defineAgent({
    name: LONG_ANSWER,
    title: false,
    model: scriptedModel(replies, pause === null ? {} : { sleep: pause }),
  });
}

const NOTE = {
  "~standard": {
    version: 1,
    vendor: "browser",
    validate: (value: unknown) => ({ value: value as { readonly note: string } }),
    jsonSchema: { input: () => NOTE_SCHEMA, output: () => NOTE_SCHEMA },
  },
} as const;
const NOTE_SCHEMA = { type: "object", properties: { note: { type: "string" } }, required: ["note"] };

const QUESTIONS = [{ question: "Which colour?", options: ["Red", "Green"] }];
const FORM = {
  id: "contact",
  title: "Where to write to",
  fields: [{ name: "email", label: "Email", type: "shortText", required: true }],
};

/** Asks for what the message names ("approval", "question" or "form"), then answers with a fixed text. */
export function askingAgent(): Agent {
  const calls: Readonly<Record<string, ReturnType<typeof script.toolCall>>> = {
    approval: script.toolCall("write_note", { note: "Buy milk" }),
    question: script.toolCall("ask_user_question", { questions: QUESTIONS }),
    form: script.toolCall("request_form", FORM),
  };
  const model = scriptedModel(({ text, step }) => {
    const call = calls[text];
    return step === 0 && call !== undefined ? [call] : [script.text("All of it is done.")];
  });
  return defineAgent({
    name: ASKING,
    title: false,
    model,
    askUser: true,
    requestForms: true,
    tools: {
      write_note: tool({
        label: "Write a note",
        input: NOTE,
        idempotent: true,
        approval: { timeoutMs: 300_000, editable: true },
        run: async ({ note }) => ({ content: `Noted: ${note}` }),
      }),
    },
  });
}
