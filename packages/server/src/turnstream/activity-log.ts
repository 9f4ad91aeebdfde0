/**
 * `createActivityLog` prints one line for each turn that ends and for each error, for the terminal of a developer or
 * the log of an operator. `describeCause` is the text of an error with its causes.
 * Invariant: without stacks, each turn and each error is one line. Texts of users are shortened. Control characters
 * are removed, so that no text can forge a line.
 */
import { inspect } from "node:util";
import type { Turn } from "@turnstream/protocol";
import { truncateText } from "@turnstream/protocol/writer";
import type { TurnObserver } from "../runtime/define/turn-observer.ts";
import type { ErrorHandler } from "../util/error-handler.ts";

export interface ActivityLogOptions {
  readonly print: (line: string) => void;
  readonly now: () => Date;
  /** Whether errors are printed with their stack. */
  readonly hasStacks: boolean;
}

export interface ActivityLog {
  readonly onEvent: TurnObserver;
  readonly onError: ErrorHandler;
}

const MAX_MESSAGE_LENGTH = 40;
const MAX_CAUSE_LENGTH = 300;
/** Deeper causes are those of libraries and rarely help. */
const MAX_CAUSES = 3;

export function createActivityLog({ print, now, hasStacks }: ActivityLogOptions): ActivityLog {
  const line = (text: string): void => print(`${now().toTimeString().slice(0, 8)} ${text}`);
  return {
    onEvent({ event, turn }) {
      if (event.type === "turn.end") line(describeEnd(turn));
    },
    onError(error, { during }) {
      line(`error in ${oneLine(during)}: ${describeCause(error)}`);
      if (hasStacks && error instanceof Error) print(error.stack ?? "");
    },
  };
}

/** Describes a turn that has ended: agent, outcome, steps, tokens, duration and the start of the message. */
export function describeEnd({ agent, status, usage, duration_ms, message }: Turn): string {
  const parts = [
    ...(usage === null ? [] : [`${usage.calls} model ${usage.calls === 1 ? "call" : "calls"}`]),
    ...(usage === null ? [] : [`${usage.total_tokens} tokens`]),
    `${((duration_ms ?? 0) / 1_000).toFixed(1)} s`,
  ];
  const text = message === null ? "" : ` ${JSON.stringify(shortened(message.text, MAX_MESSAGE_LENGTH))}`;
  return `${agent} ${OUTCOMES[status] ?? status}, ${parts.join(", ")}${text}`;
}

const OUTCOMES: Readonly<Record<string, string>> = {
  end_turn: "answered",
  user_stopped: "was stopped",
  error: "failed",
  requires_interaction: "waits for the user",
};

/** Returns the messages of an error and of its causes, in one line. A cause that only repeats its error is left out. */
export function describeCause(error: unknown): string {
  const texts: string[] = [];
  let at = error;
  for (let depth = 0; at instanceof Error && depth < MAX_CAUSES; depth++) {
    const text = shortened(at.message, MAX_CAUSE_LENGTH);
    if (text !== "" && !texts.some((each) => each.includes(text))) texts.push(text);
    at = at.cause;
  }
  return texts.length === 0 ? shortened(inspect(error), MAX_CAUSE_LENGTH) : texts.join(" Cause: ");
}

function shortened(text: string, maxLength: number): string {
  return truncateText(oneLine(text), maxLength);
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").trim();
}
