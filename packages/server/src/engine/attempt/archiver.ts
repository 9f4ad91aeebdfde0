/**
 * `Archiver` archives for all branches of one attempt, one commit at a time. Requests that arrive during a commit share
 * the next one.
 *
 * Invariant: callers flush the writer first, because the archiver only sees events that are in the log. If the log lost
 * events before `atLeast`, nothing is committed and `RestartAttempt` is thrown. A result whose event is archived in the
 * same commit is journaled as a reference to it. The archived state is cached between
 * commits and read again after a failure.
 */
import {
  comparePositions,
  type Cursor,
  findTurn,
  type Position,
  type SessionState,
} from "@turnstream/protocol";
import { archiveIncrementally } from "../../session/archive/archive.ts";
import type { Backend } from "../../session/backend.ts";
import type { NewJournalEntry } from "../../store/journal.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { referToResult } from "./journaled-result.ts";
import { RestartAttempt } from "./outcomes.ts";
import { defined } from "../../util/defined.ts";

type Write = (tx: Store) => Promise<void>;

interface CommitOptions {
  readonly entries?: readonly NewJournalEntry[];
  /** The log position that the commit depends on: a failover can lose acknowledged events at the end of the log. */
  readonly atLeast?: Position | null;
}

interface PendingCommit extends CommitOptions {
  readonly write: Write | undefined;
  readonly resolve: (archived: Cursor) => void;
  readonly reject: (error: unknown) => void;
}

export class Archiver {
  readonly #backend: Backend;
  readonly #ref: SessionRef;
  #known: SessionState | null;
  #pending: PendingCommit[] = [];
  #isBusy = false;

  /** @param known the archived state, if the caller has read it */
  constructor(backend: Backend, ref: SessionRef, known: SessionState | null = null) {
    this.#backend = backend;
    this.#ref = ref;
    this.#known = known;
  }

  /**
   * Archives the log and makes the given writes in the same commit. If the commit fails, all requests that share it fail.
   * @param write further writes. Without them, the archive and the entries are one statement
   * @returns the archived position
   */
  archive(write: Write | undefined, options: CommitOptions = {}): Promise<Cursor> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ write, ...options, resolve, reject });
      if (!this.#isBusy) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    while (this.#pending.length > 0) {
      const commits = this.#pending;
      this.#pending = [];
      try {
        const archived = await this.#commit(commits);
        for (const { resolve } of commits) resolve(archived);
      } catch (error) {
        for (const { reject } of commits) reject(error);
      }
    }
    this.#isBusy = false;
  }

  async #commit(commits: readonly PendingCommit[]): Promise<Cursor> {
    const known = this.#known;
    // If the commit fails, the next one reads the state again.
    this.#known = null;
    const positions = commits.flatMap(({ atLeast }) => atLeast ?? []);
    const atLeast = positions.toSorted(comparePositions).at(-1);
    const writes = commits.flatMap(({ write }) => write ?? []);
    const entries = [...new Set(commits.flatMap((commit) => commit.entries ?? []))];
    const archived = await archiveIncrementally(this.#backend, this.#ref, known, {
      ...defined({ atLeast }),
      journal: (state) => entries.map((entry) => referToResult(entry, findTurn(state, entry.turn))),
      ...(writes.length > 0 && {
        commit: async (tx: Store) => {
          for (const write of writes) await write(tx);
        },
      }),
    });
    if (!archived.isCommitted)
      throw new RestartAttempt(`the log has no events to archive after ${archived.cursor}`);
    this.#known = archived.state;
    return archived.cursor;
  }
}
