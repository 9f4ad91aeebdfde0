/**
 * `forkLog` builds the log of a fork: the shared history, renumbered for the new session. Pure.
 *
 * Invariant: it contains no senders and no form values. Requests and turns that can't be answered or continued in the
 * fork are closed, and queued messages are removed.
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
  /** The epochs of the source are renumbered in order, starting with this one. */
  readonly firstEpoch: number;
  /** The time of `session.start` if the source has no events. */
  readonly at: number;
}

/** @param source a valid log from its first event on, coalesced or not */
export function forkLog(source: readonly SessionEvent[], options: ForkOptions): SessionEvent[] {
  const copied = rename(source, options);
  const writer = new ForkWriter(copied, options);
  if (copied.length === 0)
    writer.add({ type: "session.start", session: options.session, number: options.number });
  // These messages are queued in the source. In the fork they were never sent.
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
    // Remove user ids: erasing a user would not find them in the fork.
    return { ...redactForShare(event), id };
  });
}

/** Appends events after the copied ones, with the time of the last copied event, because nothing has happened since. */
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
