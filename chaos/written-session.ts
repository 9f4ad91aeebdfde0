/** `WrittenSession` writes a generated log to a real session, as its worker would. Does not fold or archive. */
import { randomUUID } from "node:crypto";
import { type SessionEvent, START_CURSOR } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { SessionRef } from "@turnstream/server";
import { type Claimed, claimSession } from "@turnstream/server/internal";
import type { CommandBackend } from "@turnstream/server/ports";
import { readLog } from "@turnstream/testkit/backend/read-all-events.ts";

const MAX_BATCH = 6;

export class WrittenSession {
  readonly ref: SessionRef;
  readonly #backend: CommandBackend;
  #claimed: Claimed | null = null;
  #counter = 0;

  private constructor(backend: CommandBackend, ref: SessionRef) {
    this.#backend = backend;
    this.ref = ref;
  }

  static async make(
    backend: CommandBackend,
    actor: { readonly tenant: string; readonly user: string },
  ): Promise<WrittenSession> {
    const session = `w-${randomUUID()}`;
    await backend.store.sessions.create(actor, { id: session });
    return new WrittenSession(backend, { tenant: actor.tenant, session });
  }

  /** Creates the log. */
  async begin(): Promise<void> {
    await this.#claim({ type: "session.start", session: this.ref.session, number: 1 });
  }

  /**
   * Writes all events after the session's start. Takeovers become claims, and the events between them are appended in
   * batches of random size.
   */
  async write(log: readonly SessionEvent[], random: () => number, pause: () => Promise<void>): Promise<void> {
    let batch: EventDraft[] = [];
    const flush = async (): Promise<void> => {
      if (batch.length > 0) await this.#append(batch);
      batch = [];
    };
    for (const { v: _v, id: _id, at: _at, first: _first, ...rest } of log) {
      const draft = rest as EventDraft;
      if (draft.type === "session.start") continue;
      if (draft.type === "turn.takeover") {
        await flush();
        await this.#claim(draft);
      } else batch.push(draft);
      if (batch.length > random() * MAX_BATCH) {
        await flush();
        await pause();
      }
    }
    await flush();
  }

  async #claim(event: EventDraft): Promise<void> {
    this.#claimed = await claimSession(this.#backend, this.ref, { by: "chaos", reason: "chaos", event });
    this.#counter = 0;
  }

  async #append(events: readonly EventDraft[]): Promise<void> {
    if (this.#claimed === null) throw new Error("call begin() before write()");
    const { writer, epoch } = this.#claimed;
    const batch = { writer, epoch, counter: ++this.#counter, events };
    await this.#backend.log.append(this.ref, batch);
  }

  /** Reads the whole log. */
  async events(): Promise<SessionEvent[]> {
    const entries = await readLog(this.#backend.log, this.ref, START_CURSOR);
    if (entries === null) throw new Error("the log can't be read from its start");
    return entries.map(({ event }) => event);
  }
}
