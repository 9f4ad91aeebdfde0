/**
 * `callStatus` and `callNote` return the status of a tool call for users, and the text beside its label. Pure.
 * Invariant: a note is one line of plain text, never JSON.
 */
import type { ToolItem } from "@turnstream/protocol";
import { isAsking } from "./call-rules.ts";
import type { ThreadStrings } from "../strings/thread.ts";

export type CallStatus = keyof ThreadStrings["thread"]["toolStatus"];

const MAX_NOTE_CHARS = 120;

/** @param isRunWaiting whether its sub-agent waits for the user */
export function callStatus(item: ToolItem, isRunWaiting: boolean): CallStatus {
  // The user stopped it. The dot is red all the same (requirement U02).
  if (item.result?.status === "cancelled") return "stopped";
  return item.status === "pending" && (isRunWaiting || isAsking(item)) ? "waiting" : item.status;
}

export interface CallNote {
  readonly text: string;
  /** Whether it is a part of the result, which an open call shows in full. */
  readonly isResult: boolean;
}

export function callNote(item: ToolItem, status: CallStatus, { thread }: ThreadStrings): CallNote | null {
  if (status === "waiting" || status === "stopped")
    return { text: thread.toolStatus[status], isResult: false };
  const { result, resultText } = item;
  const count = result?.results ?? null;
  if (count !== null && status === "done") return { text: thread.results(count), isResult: false };
  const text = status === "pending" ? lastLine(joinText(item)) : firstLine(resultText ?? "");
  // JSON and markup are not for users. They are in the details.
  return text === "" || /^[[{<]/.test(text) ? null : { text: text.slice(0, MAX_NOTE_CHARS), isResult: true };
}

const firstLine = (text: string): string => plainLine(text.trim().split("\n", 1)[0]);
const lastLine = (text: string): string => plainLine(text.trim().split("\n").at(-1));

/** Removes the marks of Markdown that an answer of a sub-agent often has. */
function plainLine(line = ""): string {
  return line.replaceAll(/\*\*|`|^#+ |\s?\[\^\w+\]/g, "").trim();
}

/** Returns the text that a tool has streamed so far. */
export function joinText({ result }: ToolItem): string {
  const texts = result?.parts.filter(({ media }) => media === "text") ?? [];
  return texts.map(({ data }) => data).join("\n");
}
