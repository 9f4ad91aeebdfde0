/**
 * `closeSession` ends everything that waits or runs in a session, so that readers and forks of a share see no turn that
 * never ends and no request that they can't answer. Pure.
 *
 * Invariant: the events have the time of the last shared event, because nothing has happened since. Afterwards no
 * message is queued, no turn runs and no interaction is pending.
 */
import {
  fold,
  formatCursor,
  SCHEMA_VERSION,
  type SessionEvent,
  type SessionState,
} from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { closeOpenTurn, closeRequests } from "./close-open-turns.ts";

export interface ClosedSession {
  readonly state: SessionState;
  /** What was added to the session. */
  readonly events: readonly SessionEvent[];
}

export interface CloseOptions {
  /** The time of the last event. */
  readonly at: number;
  /** Written first if the session has no events. */
  readonly start?: EventDraft;
  /** The epoch of the added events if the session has no events. */
  readonly firstEpoch?: number;
}

export function closeSession(
  state: SessionState,
  { at, start, firstEpoch = 1 }: CloseOptions,
): ClosedSession {
  const writer = new ClosingWriter(state, at, firstEpoch);
  if (state.seq === 0 && start !== undefined) writer.add(start);
  // These messages are queued in the shared session. For readers and forks they were never sent.
  for (const { id } of writer.state.waiting) writer.add({ type: "message.remove", message: id });
  for (const turn of writer.state.turns.toArray()) closeRequests(writer, turn);
  const last = writer.state.turns.last();
  if (last?.status === "running") closeOpenTurn(writer, last.id);
  return { state: writer.state, events: writer.added };
}

class ClosingWriter {
  readonly added: SessionEvent[] = [];
  state: SessionState;
  readonly at: number;
  readonly #epoch: number;

  constructor(state: SessionState, at: number, firstEpoch: number) {
    this.state = state;
    this.at = at;
    this.#epoch = state.seq === 0 ? firstEpoch : state.epoch;
  }

  add(draft: EventDraft): void {
    const id = formatCursor({ epoch: this.#epoch, seq: this.state.seq + 1 });
    const event = { v: SCHEMA_VERSION, id, at: this.at, ...draft } as SessionEvent;
    this.added.push(event);
    this.state = fold(this.state, event);
  }
}
