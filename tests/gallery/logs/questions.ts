/**
 * `question` writes logs of questions: one choice, several choices, a text, and several questions at once, each with
 * its outcomes.
 */
import type { Story } from "@turnstream/conformance/scenarios/story.ts";
import type { EventOf, Question } from "@turnstream/protocol";
import { concluded, pieces, story } from "./writing.ts";

export const single: Question = {
  id: "when",
  text: "When should I buy?",
  options: [
    { id: "open", label: "At the opening", description: "09:00, at the market price" },
    { id: "limit", label: "Below 82,000 only" },
    { id: "never", label: "Not today" },
  ],
  multiple: false,
  free_text: false,
};

export const multiple: Question = {
  id: "where",
  text: "How should I notify you?",
  options: [
    { id: "mail", label: "By e-mail" },
    { id: "phone", label: "By phone" },
    { id: "chat", label: "Here" },
  ],
  multiple: true,
  free_text: true,
};

export const freeText: Question = {
  id: "why",
  text: "What is this money for? A sentence is enough.",
  options: [],
  multiple: false,
  free_text: true,
};

type Update = Pick<EventOf<"question.update">, "status" | "by" | "answers" | "reason">;

export function question(questions: readonly Question[], update: Update | null): Story {
  const log = story("Help me buy VNM.");
  log.text(pieces("There is one thing I need to know first."), { part: true });
  const on = log.place();
  log.add({
    type: "question.request",
    ...on,
    key: "ses_gallery_1",
    call: log.id("call"),
    questions: [...questions],
    timeout_seconds: 600,
    deadline: log.now + 600_000,
  });
  if (update === null) return log;
  log.wait(update.status === "timed_out" ? 600 : 15);
  log.add({ type: "question.update", ...on, version: 1, ...update });
  if (update.status !== "cancelled") return concluded(log, "Thank you. I continue from there.");
  log.add({ type: "notice.stopped", ...log.place(), text: "You stopped this answer.", by: "usr_an" });
  log.end("user_stopped");
  return log;
}

export const answers: Update = {
  status: "answered",
  by: "usr_an",
  answers: [
    { question: "when", selected: ["limit"] },
    { question: "where", selected: ["mail", "chat"], text: "not after nine" },
    { question: "why", selected: [], text: "A flat, in ten years." },
  ],
};
