/**
 * Archives for the branches of one attempt, one commit at a time: what several branches ask for meanwhile goes into the
 * next one together. Keeps what it has archived, so that it need not be read again at every step. Never flushes the pen:
 * who asks has its events in the log.
 */
import { comparePositions, type Position, type SessionState } from "@turnstream/protocol";
import { archiveIncrementally } from "../../session/archive/archive.ts";
import type { Backend } from "../../session/backend.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Store } from "../../store/store.ts";
import { RestartAttempt } from "./outcomes.ts";

type Commit = (tx: Store) => Promise<void>;

interface PendingCommit {
  readonly commit: Commit;
  /** What it stands on. */
  readonly atLeast: Position | null;
  readonly resolve: () => void;
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
   * Archives what is in the log, and does the rest in the same commit. What fails fails for all who share it.
   * @param atLeast what has to be archived with it: an acknowledged end of the log can be lost by a failover
   */
  archive(commit: Commit, atLeast: Position | null = null): Promise<void> {
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
        await this.#commit(commits);
        for (const { resolve } of commits) resolve();
      } catch (error) {
        for (const { reject } of commits) reject(error);
      }
    }
    this.#isBusy = false;
  }

  async #commit(commits: readonly PendingCommit[]): Promise<void> {
    let isDone = false;
    const known = this.#known;
    // Whatever stops it in between: then it is read again.
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
    if (!isDone) throw new RestartAttempt(`nothing can be archived after ${archived.cursor}`);
    this.#known = archived.state;
  }
}
