/**
 * What is read aloud when a session goes from one state to the next: that somebody works, needs the person, is done, was
 * stopped or has failed. Never the answer itself, and nothing of what was there before. Pure.
 */
import {
  type InteractionBlock,
  toolLabel,
  listPendingInteractions,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import type { ThreadStrings } from "../strings/strings.ts";

export interface Announcement {
  readonly text: string;
  /** Errors only: they may interrupt. */
  readonly isUrgent: boolean;
}

export interface AnnouncingWords {
  readonly words: ThreadStrings;
  readonly nameOf: (agent: string) => string;
}

export function announcements(
  before: SessionState,
  after: SessionState,
  { words, nameOf }: AnnouncingWords,
): Announcement[] {
  if (before.turns === after.turns) return [];
  const known = new Map<string, Turn>();
  for (const turn of before.turns) known.set(turn.id, turn);
  const newest = before.turns.last()?.number ?? -1;
  const isFirstLook = before.seq === 0;
  const said: Announcement[] = [];
  const say = (text: string, isUrgent = false): void => void said.push({ text, isUrgent });
  for (const turn of after.turns) {
    const was = known.get(turn.id) ?? null;
    if (was === turn) continue;
    // Older turns that were loaded, and what was over when the page was opened, are no news.
    const isNews = was !== null || (turn.number > newest && (!isFirstLook || turn.status === "running"));
    if (!isNews) continue;
    if (was === null && turn.status === "running" && !isFirstLook)
      say(words.announce.started(nameOf(turn.agent)));
    const asked = new Set(was === null ? [] : listPendingInteractions(was).map(({ id }) => id));
    for (const block of listPendingInteractions(turn))
      if (!asked.has(block.id)) say(needOf(block, turn, words));
    if (turn.status === "running" || was?.status === turn.status) continue;
    if (turn.status === "user_stopped") say(words.announce.stopped);
    else if (turn.status === "error") say(words.announce.failed(errorText(turn) || words.failed), true);
    else if (turn.status === "end_turn") say(words.announce.done(nameOf(turn.agent)));
  }
  return said;
}

function needOf(block: InteractionBlock, turn: Turn, words: ThreadStrings): string {
  switch (block.kind) {
    case "approval":
      return words.announce.needsApproval(callLabel(block.call, turn) ?? block.actions.map(named).join(", "));
    case "question":
      return words.announce.needsAnswer(block.questions[0]?.text ?? "");
    case "form":
      return words.announce.needsForm(block.schema.title);
    case "payment":
      return words.announce.needsPayment(block.description);
  }
}

function named({ name }: { readonly name: string }): string {
  return toolLabel({ label: "", name });
}

function callLabel(call: string | null, turn: Turn): string | null {
  const block = turn.items.findLast((item) => item?.kind === "tool_call" && item.call === call);
  return block?.kind === "tool_call" ? toolLabel(block) : null;
}

function errorText(turn: Turn): string {
  const last = turn.items.findLast((item) => item?.kind === "notice");
  return last?.kind === "notice" ? last.text : "";
}
