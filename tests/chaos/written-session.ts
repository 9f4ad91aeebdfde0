/**
 * `WrittenSession` writes to a real session as its worker would: a generated log, or single events. Does not fold or
 * archive.
 */
import { randomUUID } from "node:crypto";
import { type SessionEvent, START_CURSOR } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { SessionRef } from "@turnstream/server";
import { type Claimed, claimSession, type CommandBackend } from "@turnstream/server/internal";
import { readLog } from "@turnstream/testkit/backend/read-all-events.ts";

const MAX_BATCH = 6;

export class WrittenSession {
  readonly ref: SessionRef;
  readonly #backend: CommandBackend;
  #claimed: Claimed;
  #counter = 0;

  private constructor(backend: CommandBackend, ref: SessionRef, claimed: Claimed) {
    this.#backend = backend;
    this.ref = ref;
    this.#claimed = claimed;
  }

  /** Creates a session and its log. */
  static async begin(
    backend: CommandBackend,
    actor: { readonly tenant: string; readonly user: string },
  ): Promise<WrittenSession> {
    const { id: session, number } = await backend.store.sessions.create(actor, { id: `w-${randomUUID()}` });
    const ref = { tenant: actor.tenant, session };
    return new WrittenSession(
      backend,
      ref,
      await claim(backend, ref, { type: "session.start", session, number }),
    );
  }

  /**
   * Writes all events after the session's start. Takeovers become claims, and the events between them are appended in
   * batches of random size.
   */
  async write(log: readonly SessionEvent[], random: () => number, pause: () => Promise<void>): Promise<void> {
    let batch: EventDraft[] = [];
    const flush = async (): Promise<void> => {
      if (batch.length > 0) await this.append(...batch);
      batch = [];
    };
    for (const { v: _v, id: _id, at: _at, first: _first, ...rest } of log) {
      const draft = rest as EventDraft;
      if (draft.type === "session.start") continue;
      if (draft.type === "turn.takeover") {
        await flush();
        this.#claimed = await claim(this.#backend, this.ref, draft);
        this.#counter = 0;
      } else batch.push(draft);
      if (batch.length > random() * MAX_BATCH) {
        await flush();
        await pause();
      }
    }
    await flush();
  }

  async append(...events: EventDraft[]): Promise<void> {
    const { writer, epoch } = this.#claimed;
    await this.#backend.log.append(this.ref, { writer, epoch, counter: ++this.#counter, events });
  }

  /** Reads the whole log. */
  async events(): Promise<SessionEvent[]> {
    const entries = await readLog(this.#backend.log, this.ref, START_CURSOR);
    if (entries === null) throw new Error("the log can't be read from its start");
    return entries.map(({ event }) => event);
  }
}

function claim(backend: CommandBackend, ref: SessionRef, event: EventDraft): Promise<Claimed> {
  return claimSession(backend, ref, { by: "chaos", event });
}
