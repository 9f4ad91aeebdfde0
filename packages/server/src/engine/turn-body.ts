/**
 * `TurnBody` is what a turn does. The engine runs any body durably: it leases the turn, claims the log, keeps the journal,
 * parks the turn while it waits for users, and ends it. An agent is such a body. Types only.
 *
 * Invariant: an attempt can end at any point, and the next one calls `run` again, in this process or in another. A body
 * takes what is done from the journal, and does only what is left.
 */
import type { Usage } from "@turnstream/protocol";
import type { TurnAttempt } from "./attempt/attempt.ts";
import type { TurnOutcome } from "./events/closing-events.ts";

export interface TurnBody {
  /** How clients show the turn, unless its message says so. */
  readonly displayMode: "agent" | "chat";
  /** The model that clients show with the turn. */
  readonly model: string | undefined;
  /** How long a turn may run, without the time in which it waits for users. */
  readonly timeoutMs: number;
  run(attempt: TurnAttempt): Promise<void>;
  /** Returns how the turn ends for an error of this body, or null if the engine decides: it retries, or reports the error. */
  outcomeFor(error: unknown, attempt: TurnAttempt): TurnOutcome | null;
  /** Returns the cost of tokens whose record was lost with a process. */
  costOf(usage: Usage): number;
}

/** The bodies that a worker runs, by the name that messages choose. A worker can replace them all at once. */
export interface TurnBodies {
  readonly byName: ReadonlyMap<string, TurnBody>;
  /** The name of the body for messages that name none. */
  readonly defaultName: string;
}
