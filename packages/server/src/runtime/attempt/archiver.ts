/**
 * `Archiver` archives for all branches of one attempt, one commit at a time. Requests that arrive during a commit share
 * the next one.
 *
 * Invariant: callers flush the writer first, because the archiver only sees events that are in the log. If the log lost
 * events before `atLeast`, no `commit` runs and `RestartAttempt` is thrown. The archived state is cached between
 * commits and read again after a failure.
 */
import { comparePositions, type Cursor, type Position, type SessionState } from "@turnstream/protocol";
import { archiveIncrementally } from "../../session/archive/archive.ts";
import type { Backend } from "../../session/backend.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { RestartAttempt } from "./outcomes.ts";

type Commit = (tx: Store) => Promise<void>;

interface PendingCommit {
  readonly commit: Commit;
  /** The log position that the commit depends on. */
  readonly atLeast: Position | null;
  readonly resolve: (archived: Cursor) => void;
  readonly reject: (error: unknown) => void;
}

export class Archiver {
  readonly #backend: Backend;
  readonly #ref: SessionRef;
  #known: SessionState | null = null;
  #pending: PendingCommit[] = [];
  #isBusy = false;

  constructor(backend: Backend, ref: SessionRef) {
    this.#backend = backend;
    this.#ref = ref;
  }

  /**
   * Archives the log and runs `commit` in the same transaction. If the transaction fails, all requests that share it
   * fail.
   * @param atLeast position that the archive must include: a failover can lose acknowledged events at the end of the
   * log
   * @returns the archived position
   */
  archive(commit: Commit, atLeast: Position | null = null): Promise<Cursor> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ commit, atLeast, resolve, reject });
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
    let isDone = false;
    const known = this.#known;
    // If the commit fails, the next one reads the state again.
    this.#known = null;
    const positions = commits.flatMap(({ atLeast }) => (atLeast === null ? [] : [atLeast]));
    const atLeast = positions.toSorted(comparePositions).at(-1);
    const archived = await archiveIncrementally(this.#backend, this.#ref, known, {
      ...(atLeast === undefined ? {} : { atLeast }),
      commit: async (tx) => {
        for (const { commit } of commits) await commit(tx);
        isDone = true;
      },
    });
    if (!isDone) throw new RestartAttempt(`the log has no events to archive after ${archived.cursor}`);
    this.#known = archived.state;
    return archived.cursor;
  }
}
