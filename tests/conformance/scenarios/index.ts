/**
 * `SCENARIOS` lists every scenario by name, with a description. The vectors are generated from them, and tests use them
 * as examples. `write` creates a new log on each call, and the result is always the same.
 */
import type { SessionEvent } from "@turnstream/protocol";
import {
  hiddenToolInChatMode,
  plainAnswer,
  questionAnsweredByMessage,
  sharedThoughtAndQuestion,
  toolTags,
} from "./answers.ts";
import { approvedAndEdited, rejectedAndTimedOut } from "./approvals.ts";
import { errorAndRetry, stopped } from "./endings.ts";
import { formAndResume, formInsideTurn, paymentSettlesLater, severalTurns } from "./later.ts";
import type { Story } from "./story.ts";
import { subAgents, takeover } from "./sub-agents.ts";
import { filesAndOversizedResult, parallelTools, toolsInGroup } from "./tools.ts";

export interface Scenario {
  readonly description: string;
  readonly write: () => Story;
}

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "plain-answer": {
    description: "A thought and an answer, streamed. The one to start with.",
    write: plainAnswer,
  },
  "tools-in-group": {
    description: "Two tool calls in one group; arguments stream, or come whole at the end of the call.",
    write: toolsInGroup,
  },
  "parallel-tools": {
    description: "Three calls at once; their results come in another order, and one is an error.",
    write: parallelTools,
  },
  "sub-agents": {
    description: "Sub-agents side by side and two deep, with citations and pictures that sharpen.",
    write: subAgents,
  },
  "approved-and-edited": {
    description: "Two approvals inside a group: one approved, one with its arguments edited.",
    write: approvedAndEdited,
  },
  "rejected-and-timed-out": {
    description: "Two approvals, each in a group: one rejected, one not answered in time.",
    write: rejectedAndTimedOut,
  },
  "shared-thought-and-question": {
    description: "A shared thought as a part of text, and a question outside the group that is answered.",
    write: sharedThoughtAndQuestion,
  },
  "question-answered-by-message": {
    description: "A plain message comes while a question waits: it is the answer, and gets no turn.",
    write: questionAnsweredByMessage,
  },
  "form-and-resume": {
    description: "A form ends the turn; it is submitted, and the next turn continues from it.",
    write: formAndResume,
  },
  "form-inside-turn": {
    description:
      "A tool asks for two forms while it runs, inside its open result; one is submitted, one declined.",
    write: formInsideTurn,
  },
  "payment-settles-later": {
    description: "A payment ends its turn, is processed, and succeeds during another turn.",
    write: paymentSettlesLater,
  },
  stopped: {
    description: "The user stops the turn while calls, results, a sub-agent and a group are open.",
    write: stopped,
  },
  "error-and-retry": {
    description: "The turn fails in the middle of its text; a second turn tries it again.",
    write: errorAndRetry,
  },
  takeover: {
    description: "Two takeovers: of a sub-agent and half-written blocks in an open group, and of an answer.",
    write: takeover,
  },
  "files-and-oversized-result": {
    description:
      "Files are read first, one fails; large ones (message, arguments, result, artifact) are elsewhere.",
    write: filesAndOversizedResult,
  },
  "hidden-tool-in-chat-mode": {
    description: "Chat mode shows no thinking; a hidden tool is in the log and on no screen.",
    write: hiddenToolInChatMode,
  },
  "tool-tags": {
    description: "`<tool>` spans in the text, cut over deltas; `responses` takes them out unless asked.",
    write: toolTags,
  },
  "several-turns": {
    description: "Three turns: a message that waited, one that was withdrawn, and a title that changes.",
    write: severalTurns,
  },
};

/** The log of a scenario. */
export function listEvents(scenario: Scenario): readonly SessionEvent[] {
  return scenario.write().events;
}
