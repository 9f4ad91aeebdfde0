/**
 * `TurnObserver` is the callback that sees what a worker writes, for logs and metrics of an app. Types only.
 * Invariant: an observer can't change or delay a turn. It sees an event before the log has it, so after a crash it may
 * see the same event again.
 */
import type { Turn } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { SessionRef } from "../../util/refs.ts";

export interface TurnActivity extends SessionRef {
  readonly event: EventDraft;
  /** The turn with this event. */
  readonly turn: Turn;
}

export type TurnObserver = (activity: TurnActivity) => void;
