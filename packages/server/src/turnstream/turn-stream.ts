/**
 * `createTurnStream` wraps the events of a turn: all of them, or only the text of its answer. `answerText` returns that
 * text of an ended turn.
 * Invariant: both give the same text, unless a takeover superseded a part that was already yielded.
 */
import {
  type ErrorCode,
  listBlocks,
  type SessionEvent,
  type Turn,
  type TurnStatus,
} from "@turnstream/protocol";
import { outputText } from "@turnstream/protocol/responses";
import { TurnError } from "../session/history/turn-error.ts";

export interface TurnStream extends AsyncIterable<SessionEvent> {
  /** Iterates only the text of the answer, in pieces. @throws TurnError if the turn fails or is stopped */
  text(): AsyncIterable<string>;
}

export function createTurnStream(readEvents: () => AsyncIterable<SessionEvent>): TurnStream {
  return {
    [Symbol.asyncIterator]: () => readEvents()[Symbol.asyncIterator](),
    text: () => readText(readEvents()),
  };
}

/** @throws TurnError if the turn failed or was stopped */
export function answerText(turn: Turn): string {
  const notice = listBlocks(turn).findLast((block) => block.kind === "notice");
  throwUnlessAnswered(turn.id, turn.status, notice?.error?.code);
  return outputText(turn, true);
}

async function* readText(events: AsyncIterable<SessionEvent>): AsyncGenerator<string, void> {
  const subAgents = new Set<string>();
  let block: string | null = null;
  let code: ErrorCode | undefined;
  for await (const event of events) {
    if (event.type === "run.start" && event.parent !== undefined) subAgents.add(event.run);
    if (event.type === "notice.error") code = event.code;
    if (event.type === "turn.end") throwUnlessAnswered(event.turn, event.reason, code);
    if (event.type !== "text.delta" || event.text === "" || subAgents.has(event.run)) continue;
    yield block === null || block === event.block ? event.text : `\n\n${event.text}`;
    block = event.block;
  }
}

function throwUnlessAnswered(turn: string, status: TurnStatus, code: ErrorCode | undefined): void {
  if (status === "error") throw new TurnError("FAILED", `turn ${turn}`, code);
  if (status === "user_stopped") throw new TurnError("STOPPED", `turn ${turn}`);
}
