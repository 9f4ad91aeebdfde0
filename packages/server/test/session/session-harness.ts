/**
 * `SessionHarness` is a session with a log and a store for tests. It writes legal logs, records every written event,
 * and compares states with the fold of these events.
 */
import { randomUUID } from "node:crypto";
import { emptyState, type SessionEvent, fold, type SessionState, snapshot } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { Log } from "../../src/log/log.ts";
import { claimSession, type Claimed } from "../../src/session/lifecycle/claim.ts";
import type { Actor, SessionRef } from "../../src/util/refs.ts";
import type { ClosableStore } from "../../src/store/store.ts";

export interface SessionBackend {
  readonly log: Log;
  readonly store: ClosableStore;
}

export type MakeBackend = () => Promise<SessionBackend>;

export class SessionHarness {
  readonly backend: SessionBackend;
  readonly actor: Actor;
  readonly ref: SessionRef;
  /** Everything written, with the positions that the log assigned. */
  readonly events: SessionEvent[] = [];
  #claimed: Claimed | null = null;
  #counter = 0;

  private constructor(parts: SessionBackend, actor: Actor, ref: SessionRef) {
    this.backend = parts;
    this.actor = actor;
    this.ref = ref;
  }

  /** @param of the owner of the session; a new user by default */
  static async make(parts: SessionBackend, of?: Actor): Promise<SessionHarness> {
    const actor = of ?? { tenant: `tenant-${randomUUID()}`, user: `user-${randomUUID()}` };
    const session = `s-${randomUUID()}`;
    if (of === undefined) await parts.store.tenants.create({ id: actor.tenant, name: "Test" });
    await parts.store.sessions.create(actor, { id: session });
    return new SessionHarness(parts, actor, { tenant: actor.tenant, session });
  }

  /** Starts the log. */
  async start(): Promise<this> {
    await this.claim({ type: "session.start", session: this.ref.session, number: 1 });
    return this;
  }

  async claim(event: EventDraft): Promise<void> {
    this.#claimed = await claimSession(this.backend, this.ref, { by: "test", event });
    this.#counter = 0;
    this.#remember(this.#claimed.cursor, event);
  }

  async append(...drafts: EventDraft[]): Promise<void> {
    if (this.#claimed === null) throw new Error("the log is not claimed");
    const { writer, epoch } = this.#claimed;
    const { first } = await this.backend.log.append(this.ref, {
      writer,
      epoch,
      counter: ++this.#counter,
      events: drafts,
    });
    for (const [n, draft] of drafts.entries()) this.#remember(`${epoch}-${first + n}`, draft);
  }

  /** Writes a legal log event by event. Takeovers become claims. */
  async write(
    events: readonly SessionEvent[],
    between: () => Promise<void> = async () => undefined,
  ): Promise<void> {
    for (const { v: _v, id: _id, at: _at, first: _first, ...rest } of events) {
      const draft = rest as EventDraft;
      if (draft.type === "session.start") await this.start();
      else if (draft.type === "turn.takeover") await this.claim(draft);
      else await this.append(draft);
      await between();
    }
  }

  #remember(id: string, draft: EventDraft): void {
    this.events.push({ v: 1, id, at: 0, ...draft });
  }

  /** The fold of everything written up to a state's position. */
  folded(seq = Infinity): SessionState {
    let state = emptyState;
    for (const event of this.events) {
      if (state.seq >= seq) break;
      state = fold(state, event);
    }
    return state;
  }
}

/** A state as plain data, without times, because the log assigns those. */
export function plain(state: SessionState, turns = Infinity): unknown {
  return JSON.parse(
    JSON.stringify(snapshot(state, turns), (key, value: unknown) =>
      key === "at" || key === "started_at" || key === "ended_at" || key === "decided_at" ? undefined : value,
    ),
  );
}
