/** The agents of the tests that tell no story: one that talks at length, one that asks before it acts. */
import { type Agent, script, defineAgent, scriptedModel, tool } from "@turnstream/server";

/** Waits before each piece; rejects when it is told to stop. */
export type Beat = (ms: number, signal: AbortSignal) => Promise<unknown>;

const WORDS = 60;

/** What the talker answers: every word can be told from the others. */
export function answerTo(text: string): string {
  return Array.from({ length: WORDS }, (_, n) => `${text}-${n + 1}`).join(" ");
}

export function talker(beat: Beat | null, paceMs = 20): Agent {
  const replies = ({ text }: { readonly text: string }) => [
    script.text(answerTo(text), { chunk: 7, paceMs }),
  ];
  return defineAgent({
    name: "talker",
    title: false,
    model: scriptedModel(replies, beat === null ? {} : { sleep: beat }),
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

/** Asks for what the message names: "approval", "question" or "form"; then says so. */
export function asker(): Agent {
  const calls: Readonly<Record<string, ReturnType<typeof script.toolCall>>> = {
    approval: script.toolCall("write_note", { note: "Buy milk" }),
    question: script.toolCall("ask_user_question", { questions: QUESTIONS }),
    form: script.toolCall("request_form", FORM),
  };
  const model = scriptedModel(({ text, step }) => {
    const asked = calls[text];
    return step === 0 && asked !== undefined ? [asked] : [script.text("All of it is done.")];
  });
  return defineAgent({
    name: "asker",
    title: false,
    model,
    askUser: true,
    requestForms: true,
    tools: {
      write_note: tool({
        label: "Write a note",
        input: NOTE,
        rerun: "always",
        approval: { timeoutSeconds: 300, editable: true },
        run: async ({ note }) => ({ content: `Noted: ${note}` }),
      }),
    },
  });
}
