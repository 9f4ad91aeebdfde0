/**
 * `createActivityLog` prints one line for each turn that ends and for each error, for the terminal of a developer or
 * the log of an operator, and a bounded number of lines for security events; on request also for each tool call and
 * for each request to the user.
 * Invariant: without stacks, each of them is one line. Texts of users are shortened. Control characters are removed,
 * so that no text can forge a line.
 */
import { listBlocks, type Turn } from "@turnstream/protocol";
import { type EventDraft, truncateText } from "@turnstream/protocol/writer";
import type { TurnObserver } from "../engine/turn/turn-observer.ts";
import { describeError, describeMessage, oneLine } from "../util/describe-error.ts";
import type { ErrorHandler } from "../util/error-handler.ts";
import { createSecurityLog, type SecurityEventHandler } from "../util/security-event.ts";

export interface ActivityLogOptions {
  readonly print: (line: string) => void;
  readonly now: () => Date;
  /** Whether tool calls and requests to the user are printed. */
  readonly hasSteps: boolean;
  /** Whether errors are printed with their stack. */
  readonly hasStacks: boolean;
  /** The key of the hashes in lines about security events. */
  readonly secret: string;
}

export interface ActivityLog {
  readonly onEvent: TurnObserver;
  readonly onError: ErrorHandler;
  readonly onSecurityEvent: SecurityEventHandler;
}

const MAX_MESSAGE_LENGTH = 40;
const MAX_INPUT_LENGTH = 80;

export function createActivityLog(options: ActivityLogOptions): ActivityLog {
  const { print, now, hasSteps, hasStacks, secret } = options;
  const line = (text: string): void => print(`${now().toTimeString().slice(0, 8)} ${text}`);
  return {
    onEvent({ event, turn }) {
      const text =
        event.type === "turn.end" ? describeEnd(turn) : hasSteps ? describeStep(event, turn) : null;
      if (text !== null) line(text);
    },
    onError(error, { during }) {
      line(`error in ${oneLine(during)}: ${describeError(error)}`);
      if (hasStacks && error instanceof Error) print(error.stack ?? "");
    },
    onSecurityEvent: createSecurityLog(
      (fields) => line(`security event ${oneLine(JSON.stringify(fields))}`),
      {
        secret,
        now: () => now().getTime(),
      },
    ),
  };
}

/** Describes a turn that has ended: agent, outcome, steps, tokens, duration and the start of the message. */
export function describeEnd({ agent, status, usage, duration_ms, message }: Turn): string {
  const parts = [
    ...(usage === null ? [] : [`${usage.calls} model ${usage.calls === 1 ? "call" : "calls"}`]),
    ...(usage === null ? [] : [`${usage.total_tokens} tokens`]),
    inSeconds(duration_ms ?? 0),
  ];
  const text = message === null ? "" : ` ${quoted(message.text)}`;
  return `${agent} ${OUTCOMES[status] ?? status}, ${parts.join(", ")}${text}`;
}

/** Describes the end of a tool call, or a request to the user. Returns null for other events. */
function describeStep(event: EventDraft, turn: Turn): string | null {
  switch (event.type) {
    case "tool_result.end":
      return describeCall(turn, event.run, event.block);
    case "approval.request":
      return `${agentOf(turn, event.run)} waits for approval of ${event.actions.map(describeAction).join(", ")}`;
    case "question.request":
      return `${agentOf(turn, event.run)} waits for an answer to ${quoted(event.questions[0]?.text ?? "")}`;
    case "form.request":
      return `${agentOf(turn, event.run)} requests the form ${quoted(event.schema.title)}`;
    case "payment.request":
      return `${agentOf(turn, event.run)} requests a payment for ${quoted(event.description)}`;
    default:
      return null;
  }
}

function describeCall(turn: Turn, run: string, id: string): string | null {
  const blocks = listBlocks(turn).filter((block) => block.run === run);
  const result = blocks.find((block) => block.id === id);
  if (result?.kind !== "tool_result" || result.hidden) return null;
  const { call, name, status, preview, started_at, ended_at } = result;
  let step = 1;
  let isAfterResult = false;
  for (const block of blocks) {
    if (block.kind === "tool_result") isAfterResult = true;
    if (block.kind !== "thinking" && block.kind !== "text" && block.kind !== "tool_call") continue;
    // A model writes only after it has the results of its earlier calls, so this is its next step.
    if (isAfterResult) step++;
    isAfterResult = false;
    if (block.kind === "tool_call" && block.call === call) break;
  }
  const approval = blocks.find((block) => block.kind === "approval" && block.call === call);
  const decided = approval?.kind === "approval" ? [approval.status.replace("_", " ")] : [];
  const outcome = status === "success" ? "" : ` ${status === "error" ? "failed" : "was cancelled"}`;
  const reason = status === "error" && preview !== "" ? `: ${describeMessage(preview)}` : "";
  const parts = [`${name}${outcome}`, ...decided, inSeconds((ended_at ?? started_at) - started_at)];
  return `${agentOf(turn, run)} step ${step}: ${parts.join(", ")}${reason}`;
}

function agentOf({ runs, agent }: Turn, run: string): string {
  return runs.find(({ id }) => id === run)?.agent ?? agent;
}

function describeAction({ name, input }: { readonly name: string; readonly input: unknown }): string {
  return `${name} ${shortened(JSON.stringify(input), MAX_INPUT_LENGTH)}`;
}

function quoted(text: string): string {
  return JSON.stringify(shortened(text, MAX_MESSAGE_LENGTH));
}

function shortened(text: string, length: number): string {
  return truncateText(oneLine(text), length);
}

function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

const OUTCOMES: Readonly<Record<string, string>> = {
  end_turn: "answered",
  user_stopped: "was stopped",
  error: "failed",
  requires_interaction: "waits for the user",
};
