/**
 * `LatencySession` writes to one session at a steady rate, and `LatencyClient` measures how long each event takes to
 * its socket.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { SessionRef } from "@turnstream/server";
import { type Claimed, claimSession } from "@turnstream/server/internal";
import type { CommandBackend } from "@turnstream/server/ports";

export class LatencySession {
  readonly ref: SessionRef;
  readonly #backend: CommandBackend;
  readonly #claimed: Claimed;
  #counter = 0;

  private constructor(backend: CommandBackend, ref: SessionRef, claimed: Claimed) {
    this.#backend = backend;
    this.ref = ref;
    this.#claimed = claimed;
  }

  static async begin(
    backend: CommandBackend,
    actor: { readonly tenant: string; readonly user: string },
  ): Promise<LatencySession> {
    const { id, number } = await backend.store.sessions.create(actor, { id: `talk-${randomUUID()}` });
    const ref = { tenant: actor.tenant, session: id };
    const event: EventDraft = { type: "session.start", session: ref.session, number };
    return new LatencySession(
      backend,
      ref,
      await claimSession(backend, ref, { by: "chaos", reason: "chaos", event }),
    );
  }

  /** Writes one complete turn, so that its text is not part of the open turn. */
  async writeTurn(turn: string, text: string): Promise<void> {
    const on = { turn, run: "main", block: "b0", index: 0 };
    const start = { number: 1, message_number: 1, agent: "a", mode: "agent", from_share: false } as const;
    await this.#append(
      { type: "turn.start", turn, ...start },
      { type: "run.start", turn, run: "main", agent: "a" },
      { type: "text.start", ...on, part: false },
      { type: "text.delta", ...on, text },
      { type: "text.end", ...on, final: true },
      { type: "run.end", turn, run: "main", status: "completed" },
      { type: "turn.end", turn, reason: "end_turn", duration_ms: 1 },
    );
  }

  /** Writes titles that contain the time at which they were sent. */
  async tick(times: number, everyMs: number): Promise<void> {
    const startedAt = performance.now();
    for (let n = 0; n < times; n++) {
      await this.#append({ type: "session.update", title: `@${performance.now()}@` });
      const ahead = startedAt + (n + 1) * everyMs - performance.now();
      if (ahead > 0) await sleep(ahead);
    }
  }

  async #append(...events: EventDraft[]): Promise<void> {
    const { writer, epoch } = this.#claimed;
    await this.#backend.log.append(this.ref, { writer, epoch, counter: ++this.#counter, events });
  }
}

export class LatencyClient {
  /** How long each title took, in milliseconds. */
  readonly took: number[] = [];
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#take(data as string));
  }

  static async open(
    url: string,
    headers: Readonly<Record<string, string>>,
    session: string,
  ): Promise<LatencyClient> {
    const socket = new WebSocket(`${url.replace("http", "ws")}/api/v1/socket?dialect=native`, {
      headers: { ...headers },
    });
    const client = new LatencyClient(socket);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve, { once: true });
      socket.addEventListener("error", () => reject(new Error("a socket was refused")), { once: true });
    });
    const subscribed = new Promise((resolve) => {
      socket.addEventListener("message", resolve, { once: true });
    });
    socket.send(JSON.stringify({ type: "subscribe", session_id: session }));
    await subscribed;
    return client;
  }

  close(): void {
    this.#socket.close();
  }

  #take(text: string): void {
    const from = text.indexOf('"@');
    if (from < 0) return;
    const sent = Number(text.slice(from + 2, text.indexOf("@", from + 2)));
    this.took.push(performance.now() - sent);
  }
}
