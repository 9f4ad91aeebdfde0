/** What the gallery's logs are written with: pieces of text as a model sends them, and turns of one kind. Never reads a clock. */
import { Story } from "@turnstream/conformance/scenarios/story.ts";
import type { FileRef } from "@turnstream/protocol";

/** Cuts a text as a model would send it: a few words at a time. */
export function pieces(text: string, wordCount = 3): string[] {
  return text.match(new RegExp(`(?:\\S*\\s*){1,${wordCount}}`, "gu"))?.filter((piece) => piece !== "") ?? [];
}

interface StoryOptions {
  /** Whether every event is held against the rules; it is unless told. */
  readonly check?: boolean;
  readonly files?: readonly FileRef[];
}

export function story(question: string, { check = true, files = [] }: StoryOptions = {}): Story {
  const log = new Story({ check }).session("ses_gallery", 7);
  log.begin(question, files.length === 0 ? {} : { files: [...files] });
  return log;
}

/** A turn that is nothing but its answer. */
export function answered(question: string, text: string, wordCount?: number): Story {
  const log = story(question);
  log.text(pieces(text, wordCount), { final: true }).end();
  return log;
}

/** A turn whose steps are done and whose answer follows. */
export function concluded(log: Story, text: string): Story {
  log.text(pieces(text), { final: true }).end();
  return log;
}

/** A step that takes a moment, whole. */
export function step(log: Story, name: string, label: string, result: string, input: object = {}): string {
  const call = log.call(name, pieces(JSON.stringify(input), 1), { label });
  const on = log.wait(0.3).startResult(call, name, { label });
  log.wait(0.8).endResult(on, result);
  return call;
}
