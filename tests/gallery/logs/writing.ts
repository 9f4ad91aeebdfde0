/**
 * `story`, `answered` and `step` write the gallery's logs: text in chunks as a model sends it, and common kinds of
 * turns.
 *
 * Invariant: deterministic, without a clock.
 */
import { Story } from "@turnstream/conformance/scenarios/story.ts";
import type { FileRef } from "@turnstream/protocol";

/** Splits a text as a model would send it, a few tokens at a time. */
export function pieces(text: string, wordCount = 3): string[] {
  return text.match(new RegExp(`(?:\\S*\\s*){1,${wordCount}}`, "gu"))?.filter((piece) => piece !== "") ?? [];
}

interface StoryOptions {
  /** Whether every event is checked against the rules. @default true */
  readonly check?: boolean;
  readonly files?: readonly FileRef[];
}

export function story(question: string, { check = true, files = [] }: StoryOptions = {}): Story {
  const log = new Story({ check }).session("ses_gallery", 7);
  log.begin(question, files.length === 0 ? {} : { files: [...files] });
  return log;
}

/** Writes a turn with only an answer. */
export function answered(question: string, text: string, wordCount?: number): Story {
  const log = story(question);
  log.text(pieces(text, wordCount), { final: true }).end();
  return log;
}

/** Writes the final answer of a turn whose steps are done. */
export function concluded(log: Story, text: string): Story {
  log.text(pieces(text), { final: true }).end();
  return log;
}

/** Writes a complete step that takes a moment. */
export function step(log: Story, name: string, label: string, result: string, input: object = {}): string {
  const call = log.call(name, pieces(JSON.stringify(input), 1), { label });
  const on = log.wait(0.3).startResult(call, name, { label });
  log.wait(0.8).endResult(on, result);
  return call;
}
