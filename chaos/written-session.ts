/** Writes a generated log into a real session, as the one worker of that session would. Never folds or archives. */
import { randomUUID } from "node:crypto";
import { type SessionEvent, type EventDraft, START_CURSOR } from "@turnstream/protocol";
import { type Claimed, claimSession, type CommandBackend, type SessionRef } from "@turnstream/server";

const MAX_BATCH = 6;

export class WrittenSession {
  readonly ref: SessionRef;
  readonly #parts: CommandBackend;
  #claimed: Claimed | null = null;
  #counter = 0;

  private constructor(parts: CommandBackend, ref: SessionRef) {
    this.#parts = parts;
    this.ref = ref;
  }

  static async make(
    parts: CommandBackend,
    actor: { readonly tenant: string; readonly user: string },
  ): Promise<WrittenSession> {
    const session = `w-${randomUUID()}`;
    await parts.store.sessions.create(actor, { id: session });
    return new WrittenSession(parts, { tenant: actor.tenant, session });
  }

  /** Makes the log. */
  async begin(): Promise<void> {
    await this.#claim({ type: "session.start", session: this.ref.session, number: 1 });
  }

  /** Everything after the beginning; takeovers become claims, whatever is between them goes in batches of any size. */
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
    this.#claimed = await claimSession(this.#parts, this.ref, { by: "chaos", reason: "chaos", event });
    this.#counter = 0;
  }

  async #append(events: readonly EventDraft[]): Promise<void> {
    if (this.#claimed === null) throw new Error("begin it first");
    const { writer, epoch } = this.#claimed;
    const batch = { writer, epoch, counter: ++this.#counter, events };
    await this.#parts.log.append(this.ref.session, batch);
  }

  /** All of it as the log has it. */
  async events(): Promise<SessionEvent[]> {
    const events: SessionEvent[] = [];
    for (let after = START_CURSOR; ;) {
      const page = await this.#parts.log.read(this.ref.session, { after });
      if (!page.ok) throw new Error(`the log can't be read: ${page.reason}`);
      events.push(...page.entries.map(({ event }) => event));
      if (!page.more) return events;
      after = events.at(-1)?.id ?? after;
    }
  }
}
