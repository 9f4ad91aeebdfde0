/**
 * `ArchiveLoad` writes turns to one session while two archivers move its log to the store, and checks the archive
 * afterwards.
 *
 * Invariant: the archive reaches the last acknowledged position, and equals the log up to its own position. Does not
 * trim the log.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  emptyState,
  type SessionEvent,
  foldAll,
  parseCursor,
  restore,
  SCHEMA_VERSION,
  type SessionState,
  snapshot,
} from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { Backend, SessionRef } from "@turnstream/server";
import { archiveSession, claimSession } from "@turnstream/server/internal";
import { isStoreError } from "@turnstream/server/ports";
import { readArchive, readLog } from "@turnstream/testkit/backend/read-all-events.ts";

export interface ArchiveAftermath {
  /** Events whose archiving was acknowledged and that are missing. */
  lost: number;
  /** 1 if the position, the events, the turns and the header are from different moments. */
  half: number;
  /** 1 if archiving the rest twice did not give the whole log. */
  repeatedWrong: number;
}

const WINDOW = 100;
const AHEAD = 30;
const AGAIN_MS = 50;

export class ArchiveLoad {
  /** Acknowledged calls, calls cut off by the kill, and the highest seq that was acknowledged as archived. */
  acknowledged = 0;
  ambiguous = 0;
  #archived = 0;
  #counter = 0;
  readonly #backend: Backend;
  readonly #ref: SessionRef;
  readonly #writer: { readonly epoch: number; readonly writer: string };

  private constructor(backend: Backend, ref: SessionRef, writer: { epoch: number; writer: string }) {
    this.#backend = backend;
    this.#ref = ref;
    this.#writer = writer;
  }

  static async begin(backend: Backend, ref: SessionRef): Promise<ArchiveLoad> {
    const event = { type: "session.start", session: ref.session, number: 1 } as const;
    return new ArchiveLoad(
      backend,
      ref,
      await claimSession(backend, ref, { by: "chaos", reason: "test", event }),
    );
  }

  async work(isOver: () => boolean, isDown: () => boolean): Promise<void> {
    await Promise.all([this.#write(isOver), this.#archive(isOver, isDown), this.#archive(isOver, isDown)]);
  }

  async #write(isOver: () => boolean): Promise<void> {
    for (let n = 0; !isOver(); n++) {
      for (const draft of turn(n)) {
        await this.#backend.log.append(this.#ref, {
          ...this.#writer,
          counter: ++this.#counter,
          events: [draft],
        });
      }
      // Don't get too far ahead, or archiving never reaches the end of the log.
      do await sleep(2);
      while (!isOver() && this.#counter - this.#archived > AHEAD);
    }
  }

  async #archive(isOver: () => boolean, isDown: () => boolean): Promise<void> {
    while (!isOver()) {
      const startedDown = isDown();
      try {
        const { cursor } = await archiveSession(this.#backend, this.#ref, { step: 5 });
        this.#archived = Math.max(this.#archived, seqOf(cursor));
        this.acknowledged++;
      } catch (error) {
        if (!isStoreError(error, "UNAVAILABLE")) throw error;
        if (!startedDown) this.ambiguous++;
        await sleep(AGAIN_MS);
      }
    }
  }

  async aftermath(): Promise<ArchiveAftermath> {
    const end = seqOf((await this.#backend.store.archive.header(this.#ref)).archived);
    const half = (await this.#isLogUpTo(end)) ? 0 : 1;
    await archiveSession(this.#backend, this.#ref);
    const repeated = await archiveSession(this.#backend, this.#ref);
    const isRight = repeated.events === 0 && (await this.#isLogUpTo(seqOf(repeated.cursor)));
    const isAll = seqOf(repeated.cursor) === (await this.#logged()).length;
    return { lost: Math.max(0, this.#archived - end), half, repeatedWrong: isRight && isAll ? 0 : 1 };
  }

  /** Compares the log with both the archived events and the folded state that is stored with them. */
  async #isLogUpTo(seq: number): Promise<boolean> {
    const { store } = this.#backend;
    const { header, turns, earlier } = await store.archive.window(this.#ref, WINDOW);
    const events = await readArchive(store, this.#ref);
    const logged = foldAll((await this.#logged()).slice(0, seq));
    const folded = restore({ ...emptyState, ...header, v: SCHEMA_VERSION, earlier, turns });
    const ends = await store.turns.list(this.#ref, { limit: WINDOW });
    const ended = ends.filter(({ status }) => status !== "running").length;
    return (
      plain(foldAll(events)) === plain(logged) &&
      plain(folded) === plain(logged) &&
      ended === Math.min(WINDOW, logged.turns.toArray().filter(({ status }) => status !== "running").length)
    );
  }

  async #logged(): Promise<SessionEvent[]> {
    const entries = await readLog(this.#backend.log, this.#ref, "0-0");
    if (entries === null) throw new Error("the log can't be read from its start");
    return entries.map(({ event }) => event);
  }
}

function plain(state: SessionState): string {
  return JSON.stringify(snapshot(state, WINDOW), (_key, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

function seqOf(cursor: string | undefined): number {
  return parseCursor(cursor ?? "0-0")?.seq ?? 0;
}

function turn(n: number): EventDraft[] {
  const t = { turn: `t${n}` };
  const b = { ...t, run: "main", block: "b", index: 0 };
  const start = { ...t, number: n, message_number: n, agent: "a", mode: "agent", from_share: false } as const;
  return [
    { type: "turn.start", ...start },
    { type: "run.start", ...t, run: "main", agent: "a" },
    { type: "text.start", ...b, part: false },
    { type: "text.delta", ...b, text: `turn ${n} ` },
    { type: "text.delta", ...b, text: "has this text" },
    { type: "text.end", ...b, final: true },
    { type: "run.end", ...t, run: "main", status: "completed" },
    { type: "turn.end", ...t, reason: "end_turn", duration_ms: n },
  ];
}
