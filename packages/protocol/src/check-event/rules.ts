/**
 * `EVENT_RULES` lists the numbered rules of a valid log, and `violation` cites one.
 * Invariant: PROTOCOL.md and the conformance vectors list the same numbers and texts, and tests compare them. Every
 * rule needs a vector that breaks it.
 */
export const EVENT_RULES = {
  L01: "a log begins with session.start, and has no second one",
  L02: "seq rises by one; a merged event starts right after the last position",
  L03: "the epoch never falls, and rises only with session.start, turn.start or turn.takeover",
  L04: "an id (message, turn, run, block, group, call, key) is given once",
  L05: "one turn runs at a time, and a turn answers a message that waits",
  L06: "events belong to the turn that runs; only payments and forms that nobody waits for change later",
  L07: "a run starts once, the main run first, a sub-agent's under the open, shown result of its parent's call",
  L08: "a run ends when its blocks, calls and sub-runs have ended",
  L09: "index is the turn's next number, for blocks and group markers alike",
  L10: "a block takes deltas and its end while it is open, of its own kind and at its own index",
  L11: "a run has at most one thinking and one text block open",
  L12: "groups are the main run's, don't overlap, and start and end while no block is open and no call waits",
  L13: "while a group is open the main run writes no text but parts, and asks no question, no payment, and no form but one that waits",
  L14: "a sub-agent's text is a part and never final; a turn has one final text, and no tool call follows it",
  L15: "files come first in a turn",
  L16: "a result starts once, after its call ended and its approval was decided, in the same run, and ends after its forms, and without success after a refusal",
  L17: "parts of a result come one after the other",
  L18: "an annotation lies inside the text",
  L19: "an approval is for a call that ended and has no result yet, a form that waits for one whose result has not ended",
  L20: "an interaction changes with a higher version, and only as its states allow",
  L21: "a takeover names everything that hangs on what it makes void, and every half-written block, but no interaction",
  L22: "a notice is the last block of its turn, written when all else is closed and nobody is asked",
  L23: "a turn ends when all is closed, and with the block that its reason asks for",
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
