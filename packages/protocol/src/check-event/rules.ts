/**
 * `EVENT_RULES` lists the numbered rules of a valid log, and `violation` cites one.
 * Invariant: PROTOCOL.md and the conformance vectors list the same numbers and texts, and tests compare them. Every
 * rule needs a vector that breaks it.
 */
export const EVENT_RULES = {
  L01: "a log starts with session.start and has no second one",
  L02: "seq increases by one; a merged event starts right after the last position",
  L03: "the epoch never decreases, and increases only with session.start, turn.start or turn.takeover",
  L04: "an id (message, turn, run, block, group, call, key) is used once",
  L05: "one turn runs at a time, and a turn answers a queued message",
  L06: "events belong to the running turn; only payments and non-blocking forms change later",
  L07: "a run starts once: the main run first, a sub-agent run under the open, visible result of its parent's call",
  L08: "a run ends after its blocks, its calls and the runs of its sub-agents have ended",
  L09: "index is the next number of the turn, for blocks and group markers",
  L10: "deltas and the end of a block come while the block is open, and have its kind and its index",
  L11: "a run has at most one open thinking block and one open text block",
  L12: "groups belong to the main run and don't overlap; they start and end while no block is open and each visible call has its result",
  L13: "while a group is open, the main run writes no text except parts and requests no question, payment or non-blocking form",
  L14: "the text of a sub-agent is a part and never final; a turn has one final text, and no tool call follows it",
  L15: "files come first in a turn",
  L16: "a call has one result, in the same run; the result starts after the call has ended and its approval is decided, and ends after the blocking forms of the call; if the approval was refused, the result is not a success",
  L17: "parts of a result follow one another",
  L18: "an annotation is inside the text",
  L19: "an approval is for a call that has ended and has no result; a blocking form is for a call whose result has not ended",
  L20: "an interaction changes with a higher version, and only as its states allow",
  L21: "a takeover supersedes every open block except results that stay open, and everything that depends on a superseded thing, but no interaction",
  L22: "a notice is the last block of its turn, written when everything else is closed and no blocking interaction is pending",
  L23: "a turn ends when everything is closed, with the block that its reason requires",
} as const;

export type EventRule = keyof typeof EVENT_RULES;

/** The rule that an event breaks, and the reason as text. */
export interface Violation {
  readonly rule: EventRule;
  readonly message: string;
}

export function violation(rule: EventRule, message: string): Violation {
  return { rule, message };
}
