/**
 * The log of a fork: the shared history with its positions and its name made the new session's, without who
 * said it and what they filled into forms, and everything closed that nobody there could answer or go on with. Pure; reads and stores nothing.
 */
import {
  type SessionEvent,
  emptyState,
  fold,
  foldAll,
  formatCursor,
  parseCursor,
  SCHEMA_VERSION,
  type SessionState,
} from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { redactForShare } from "../rules/redact-for-share.ts";
import { closeOpenTurn, closeForms } from "./close-open-turns.ts";

export interface ForkOptions {
  readonly session: string;
  readonly number: number;
  /** The epochs of the source, in their order, become this one and those after it. */
  readonly firstEpoch: number;
  /** The time of the session's start, when the source has no event at all. */
  readonly at: number;
}

/** @param source a legal log, coalesced or not, from its first event on */
export function forkLog(source: readonly SessionEvent[], options: ForkOptions): SessionEvent[] {
  const copied = rename(source, options);
  const writer = new ForkWriter(copied, options);
  if (copied.length === 0)
    writer.add({ type: "session.start", session: options.session, number: options.number });
  // The messages wait in the source; here nobody has sent them.
  for (const { id } of writer.state.waiting) writer.add({ type: "message.remove", message: id });
  for (const turn of writer.state.turns.toArray()) closeForms(writer, turn);
  const last = writer.state.turns.last();
  if (last?.status === "running") closeOpenTurn(writer, last.id);
  return [...copied, ...writer.added];
}

function rename(
  source: readonly SessionEvent[],
  { session, number, firstEpoch }: ForkOptions,
): SessionEvent[] {
  let epoch = firstEpoch - 1;
  let was = -1;
  return source.map((event) => {
    const position = parseCursor(event.id);
    if (position === null) return event;
    if (position.epoch !== was) epoch += 1;
    was = position.epoch;
    const id = formatCursor({ epoch, seq: position.seq });
    if (event.type === "session.start") return { ...event, id, session, number };
    // Erasing a person could not reach their id in here.
    return { ...redactForShare(event), id };
  });
}

/** Adds events behind the copied ones. They carry the time of the last of those: nothing happened since. */
class ForkWriter {
  readonly added: SessionEvent[] = [];
  state: SessionState;
  readonly #epoch: number;
  readonly #at: number;

  constructor(copied: readonly SessionEvent[], { firstEpoch, at }: ForkOptions) {
    this.state = copied.length === 0 ? emptyState : foldAll(copied);
    this.#epoch = copied.length === 0 ? firstEpoch : this.state.epoch;
    this.#at = copied.at(-1)?.at ?? at;
  }

  get at(): number {
    return this.#at;
  }

  add(draft: EventDraft): void {
    const id = formatCursor({ epoch: this.#epoch, seq: this.state.seq + 1 });
    const event = { v: SCHEMA_VERSION, id, at: this.#at, ...draft } as SessionEvent;
    this.added.push(event);
    this.state = fold(this.state, event);
  }
}
