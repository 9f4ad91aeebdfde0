/**
 * `writeRecording` and `readRecording` keep the history of one session in a file. `npm run chaos -- redis-kill --times 1
 * --record tests/kit/history/recorded/redis-kill.jsonl` records one, and the same for the other names in that folder.
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { Operation } from "./check-history.ts";

/** Recordings are in the repository, so they are small. */
const MAX_LENGTH = 60_000;

/** Writes the longest history of a session that is not too long. */
export function writeRecording(file: string, history: readonly Operation[]): void {
  const texts = [...groupBySession(history).values()].map((lines) => `${lines.join("\n")}\n`);
  const fitting = texts.filter(({ length }) => length <= MAX_LENGTH).toSorted((a, b) => b.length - a.length);
  if (fitting[0] !== undefined) writeFileSync(file, fitting[0]);
}

export function readRecording(file: string): Operation[] {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Operation);
}

function groupBySession(history: readonly Operation[]): Map<string, string[]> {
  const sessions = new Map<string, string[]>();
  const sessionOf = new Map<string, string>();
  for (const each of history) {
    if (each.type === "follow") sessionOf.set(each.reader, each.session);
    const session =
      "session" in each ? each.session : "reader" in each ? sessionOf.get(each.reader) : undefined;
    if (session === undefined) continue;
    sessions.set(session, [...(sessions.get(session) ?? []), JSON.stringify(each)]);
  }
  return sessions;
}
