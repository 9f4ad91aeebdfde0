/** Writes logs of forms (`form`), which outlive their turn, and of a form that a turn waits for. */
import type { Story } from "@turnstream/conformance/scenarios/story.ts";
import type { EventOf, FormField, Json } from "@turnstream/protocol";
import { concluded, pieces, story } from "./writing.ts";

const FIELDS: readonly FormField[] = [
  { name: "name", label: "Full name", type: "shortText", required: true, max: 80 },
  { name: "nick", label: "What should we call you?", type: "text", required: false },
  { name: "email", label: "E-mail", type: "email", required: true, help: "We write only about this order." },
  { name: "phone", label: "Phone", type: "phone", required: false },
  { name: "born", label: "Date of birth", type: "date", required: true },
  { name: "years", label: "Years of experience", type: "number", required: true, min: 0, max: 60 },
  {
    name: "risk",
    label: "Risk",
    type: "select",
    required: true,
    options: [
      { value: "low", label: "Careful" },
      { value: "mid", label: "Balanced" },
      { value: "high", label: "Bold" },
    ],
  },
  {
    name: "sectors",
    label: "Sectors",
    type: "multiSelect",
    required: false,
    min: 1,
    max: 2,
    options: [
      { value: "food", label: "Food" },
      { value: "bank", label: "Banks" },
      { value: "tech", label: "Technology" },
    ],
  },
  { name: "notes", label: "Anything else", type: "longText", required: false, max: 500 },
  { name: "card", label: "Identity card", type: "file", required: false, help: "A photo or a PDF." },
  { name: "terms", label: "I have read the terms", type: "checkbox", required: true },
];

const VALUES: Readonly<Record<string, Json>> = {
  name: "Nguyễn An",
  nick: "",
  email: "an@example.com",
  phone: "+84 90 000 0000",
  born: "1990-04-30",
  years: 6,
  risk: "mid",
  sectors: ["food", "tech"],
  notes: "Please no calls before nine.\nThank you!",
  card: { upload: "up_1", name: "card.pdf", media_type: "application/pdf", size: 182_044 },
  terms: true,
};

const SCHEMA = {
  id: "account",
  title: "Open an account",
  description: "About two minutes. Nothing is sent before you submit it.",
  fields: [...FIELDS],
};

type Update = Pick<EventOf<"form.update">, "status" | "by" | "reason" | "values">;

export const submitted: Update = { status: "submitted", by: "usr_an", values: VALUES };

export function form(update: Update | null): Story {
  const log = story("I want to open an account.");
  log.text(pieces("I need a few things from you."));
  const on = log.place();
  log.add({ type: "form.request", ...on, form: "form_1", schema: SCHEMA });
  log.end("requires_interaction");
  if (update === null) return log;
  log.wait(90).add({ type: "form.update", ...on, version: 1, ...update });
  return log;
}

/** A tool asks for a code while it runs. */
export function waitingForm(): Story {
  const log = story("Check me in.");
  log.openGroup();
  const call = log.call("check_in", ['{"hut":"Heron"}'], { label: "Checking in" });
  const result = log.startResult(call, "check_in", { label: "Checking in" });
  const on = log.place();
  const fields = [{ name: "code", label: "Code", type: "shortText", required: true, max: 8 }] as const;
  const schema = { id: "code", title: "Your code", description: "It is in the mail.", fields };
  const due = { timeout_seconds: 120, deadline: log.now + 120_000 };
  log.add({ type: "form.request", ...on, form: "form_1", call, schema, waits: true, ...due });
  log.wait(7);
  const values = { code: "7Q" };
  log.add({ type: "form.update", ...on, version: 1, by: "usr_an", status: "submitted", values });
  log.endResult(result, "checked in").closeGroup("Checked in");
  return concluded(log, "You are in.");
}
