/**
 * `listAnnouncements` returns the texts for screen readers when a session changes: a turn started, needs the user,
 * ended, was stopped or failed, or a payment changed.
 * Invariant: it never announces the answer itself, nor content from before the page was opened. Pure.
 */
import {
  type InteractionBlock,
  toolLabel,
  listPendingInteractions,
  type NoticeBlock,
  type PaymentBlock,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";

export interface AnnouncementText {
  readonly text: string;
  /** True only for errors, which may interrupt the screen reader. */
  readonly isUrgent: boolean;
}

/** The texts of announcements. `what` is a tool, a question, a form or an error. */
export interface AnnouncementStrings {
  readonly started: (agent: string) => string;
  readonly needsApproval: (what: string) => string;
  readonly needsAnswer: (what: string) => string;
  readonly needsForm: (what: string) => string;
  readonly needsPayment: (what: string) => string;
  /** `status` is a text for the user. */
  readonly paymentChanged: (what: string, status: string) => string;
  readonly done: (agent: string) => string;
  readonly stopped: string;
  readonly failed: (what: string) => string;
}

export interface AnnouncementOptions {
  readonly strings: AnnouncementStrings;
  /** Returns what is announced when a turn failed, from its notice if it has one. */
  readonly describeError: (notice: NoticeBlock | null) => string;
  readonly describeStatus: (status: PaymentBlock["status"]) => string;
  readonly agentName: (agent: string) => string;
}

/** The English texts, with the ids of agents as their names. */
export const ENGLISH_ANNOUNCEMENTS: AnnouncementOptions = {
  strings: {
    started: (agent) => `${agent} is working.`,
    needsApproval: (what) => `Your approval is needed: ${what}.`,
    needsAnswer: (what) => `A question for you: ${what}`,
    needsForm: (what) => `A form to fill in: ${what}.`,
    needsPayment: (what) => `A payment is due: ${what}.`,
    paymentChanged: (what, status) => `Payment for ${what}: ${status}.`,
    done: (agent) => `${agent} is done.`,
    stopped: "Stopped.",
    failed: (what) => `Failed. ${what}`,
  },
  agentName: (agent) => agent,
  describeStatus: (status) => status,
  describeError: (notice) => notice?.text ?? "",
};

export function listAnnouncements(
  before: SessionState,
  after: SessionState,
  { strings, describeError, describeStatus, agentName }: AnnouncementOptions,
): AnnouncementText[] {
  if (before.turns === after.turns) return [];
  const known = new Map<string, Turn>();
  for (const turn of before.turns) known.set(turn.id, turn);
  const newest = before.turns.last()?.number ?? -1;
  const isFirstLook = before.seq === 0;
  const result: AnnouncementText[] = [];
  const add = (text: string, isUrgent = false): void => void result.push({ text, isUrgent });
  for (const turn of after.turns) {
    const was = known.get(turn.id) ?? null;
    if (was === turn) continue;
    // Skip older turns that were loaded later, and turns that had ended when the page was opened.
    const isNew = was !== null || (turn.number > newest && (!isFirstLook || turn.status === "running"));
    if (!isNew) continue;
    if (was === null && turn.status === "running" && !isFirstLook)
      add(strings.started(agentName(turn.agent)));
    const pending = was === null ? [] : listPendingInteractions(was);
    for (const { index, status } of pending) {
      const block = turn.items.get(index);
      if (block?.kind === "payment" && block.status !== status)
        add(
          strings.paymentChanged(block.description, describeStatus(block.status)),
          block.status === "failed",
        );
    }
    const asked = new Set(pending.map(({ id }) => id));
    for (const block of listPendingInteractions(turn))
      if (!asked.has(block.id)) add(describeRequest(block, turn, strings));
    if (turn.status === "running" || was?.status === turn.status) continue;
    if (turn.status === "user_stopped") add(strings.stopped);
    else if (turn.status === "error") add(strings.failed(describeError(findNotice(turn))), true);
    else if (turn.status === "end_turn") add(strings.done(agentName(turn.agent)));
  }
  return result;
}

function describeRequest(block: InteractionBlock, turn: Turn, strings: AnnouncementStrings): string {
  switch (block.kind) {
    case "approval":
      return strings.needsApproval(callLabel(block.call, turn) ?? block.actions.map(toolName).join(", "));
    case "question":
      return strings.needsAnswer(block.questions[0]?.text ?? "");
    case "form":
      return strings.needsForm(block.schema.title);
    case "payment":
      return strings.needsPayment(block.description);
  }
}

function toolName({ name }: { readonly name: string }): string {
  return toolLabel({ label: "", name });
}

function callLabel(call: string | null, turn: Turn): string | null {
  const block = turn.items.findLast((item) => item?.kind === "tool_call" && item.call === call);
  return block?.kind === "tool_call" ? toolLabel(block) : null;
}

function findNotice(turn: Turn): NoticeBlock | null {
  const last = turn.items.findLast((item) => item?.kind === "notice");
  return last?.kind === "notice" ? last : null;
}
