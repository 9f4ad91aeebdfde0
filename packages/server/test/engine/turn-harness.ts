/**
 * `TurnHarness` runs turns in tests with a log, store, signals and a worker, in memory or on real servers. It reads
 * every written event and checks it against the rules: an illegal event fails the test.
 */
import { randomUUID } from "node:crypto";
import {
  type Block,
  emptyState,
  type SessionEvent,
  fold,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import { checkEvent } from "@turnstream/protocol/writer";
import { featuresOf, withFeatures } from "@turnstream/testkit/backend/test-features.ts";
import { readAllEvents } from "@turnstream/testkit/backend/read-all-events.ts";
import type { Log } from "../../src/log/log.ts";
import type { Agent } from "../../src/agent/define/agent.ts";
import type { WorkerOptions } from "../../src/worker/options.ts";
import { createWorker, type Worker } from "../../src/worker/worker.ts";
import { createSession, ensureSessionLog } from "../../src/session/lifecycle/create.ts";
import { sendMessage } from "../../src/session/messages/send.ts";
import { stopTurn } from "../../src/session/messages/stop-turn.ts";
import type { Signals } from "../../src/signals/signals.ts";
import { systemEnv } from "../../src/util/env.ts";
import type { Actor, SessionRef } from "../../src/util/refs.ts";
import type { ClosableStore } from "../../src/store/store.ts";

export interface HarnessBackend {
  readonly log: Log;
  readonly store: ClosableStore;
  readonly signals: Signals;
}

/** Ends a test that hangs. Shorter timeouts would end one that is slow. */
const PATIENCE_MS = 60_000;

export class TurnHarness {
  readonly backend: HarnessBackend;
  readonly actor: Actor;
  readonly errors: { error: unknown; during: string }[] = [];
  readonly #workers: Worker[] = [];
  readonly #crashing = new Set<object>();

  private constructor(parts: HarnessBackend, actor: Actor) {
    this.backend = parts;
    this.actor = actor;
  }

  static async open(parts: HarnessBackend): Promise<TurnHarness> {
    const actor = { tenant: `tenant-${randomUUID()}`, user: `user-${randomUUID()}` };
    await parts.store.tenants.create({ id: actor.tenant, name: "Test" });
    return new TurnHarness(parts, actor);
  }

  /** A harness on the same backend for another user. */
  as(actor: Actor): TurnHarness {
    return new TurnHarness(this.backend, actor);
  }

  /** Creates the log of a session that only the store has, such as a fork. */
  async reopen(ref: SessionRef): Promise<void> {
    await ensureSessionLog(this.backend, ref);
  }

  async worker(agents: readonly Agent[], options: Partial<WorkerOptions> = {}): Promise<Worker> {
    const { store, log, signals } = this.backend;
    const worker = await createWorker({
      store,
      log,
      signals,
      agents,
      pollIntervalMs: 100,
      // Long, because a short lease would expire on a machine that stalls for seconds. A test that kills a worker sets
      // its own.
      leaseTtlMs: 60_000,
      // Most tests that shut a worker down need another one to continue a running step. A test of draining sets its own.
      drainMs: 0,
      onError: (error, { during }) => this.errors.push({ error, during }),
      ...options,
      features: withFeatures(options.features, await featuresOf(store)),
      // Files are read at the lowest priority, and on a busy machine slowly. A test of the limit sets its own.
      fileLimits: { extractTimeoutMs: 600_000, ...options.fileLimits },
    });
    if (!this.#crashing.has(options)) this.#workers.push(worker);
    return worker;
  }

  /** A worker that will die and can't be shut down. */
  crashingWorker(agents: readonly Agent[], options: Partial<WorkerOptions>): Promise<Worker> {
    this.#crashing.add(options);
    return this.worker(agents, options);
  }

  async session(): Promise<SessionRef> {
    const session = await createSession(this.backend, this.actor, { id: `s-${randomUUID()}` }, systemEnv);
    return { tenant: this.actor.tenant, session: session.id };
  }

  async send(
    ref: SessionRef,
    text: string,
    options: { agent?: string; mode?: "agent" | "chat" } = {},
  ): Promise<string> {
    const id = `m-${randomUUID()}`;
    await sendMessage(this.backend, ref, { id, text, userId: this.actor.user, options });
    return id;
  }

  stop(ref: SessionRef, turn?: string) {
    return stopTurn(this.backend, ref, { userId: this.actor.user, ...(turn === undefined ? {} : { turn }) });
  }

  /** Sends a message and waits until its turn has ended. */
  async ask(
    ref: SessionRef,
    text: string,
    options: { agent?: string; mode?: "agent" | "chat" } = {},
  ): Promise<Turn> {
    const message = await this.send(ref, text, options);
    return this.ended(ref, (turn) => turn.message?.id === message);
  }

  /** Returns the turn that matches, once it has ended and its worker has finished. */
  async ended(ref: SessionRef, test: (turn: Turn) => boolean, timeoutMs = 120_000): Promise<Turn> {
    return this.until(ref, timeoutMs, async (state) => {
      const turn = state.turns.findLast(test);
      if (turn === undefined || turn.status === "running") return null;
      const running = await this.backend.store.running.get(ref);
      return running?.turn === turn.id ? null : turn;
    });
  }

  async until<T>(
    ref: SessionRef,
    timeoutMs: number,
    look: (state: SessionState) => Promise<T | null> | T | null,
  ): Promise<T> {
    const late = AbortSignal.timeout(Math.max(timeoutMs, PATIENCE_MS));
    while (true) {
      const state = await this.state(ref);
      const found = await look(state);
      if (found !== null) return found;
      if (late.aborted) {
        throw new Error(
          `not within ${timeoutMs} ms: ${JSON.stringify(this.errors.slice(0, 20).map(({ error, during }) => `${during}: ${String(error)}`))}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** All written events that still exist, from the archive and the log. */
  async events(ref: SessionRef): Promise<SessionEvent[]> {
    return readAllEvents(this.backend, ref);
  }

  /** The fold of all written events, each checked against the rules. */
  async state(ref: SessionRef): Promise<SessionState> {
    let state = emptyState;
    for (const event of await this.events(ref)) {
      const wrong = checkEvent(state, event);
      if (wrong !== null) throw new Error(`${wrong.rule} ${wrong.message}: ${JSON.stringify(event)}`);
      state = fold(state, event);
    }
    return state;
  }

  async close(): Promise<void> {
    for (const worker of this.#workers) await worker.shutdown();
    await this.backend.signals.close();
    await this.backend.log.close();
    await this.backend.store.close();
  }
}

/** A short form of the blocks of a turn, as the user would see them. */
export function outline(turn: Turn): string[] {
  return turn.items.toArray().flatMap((item) => {
    if (item === null || item.kind === "superseded") return [];
    if (item.kind === "group_start") return ["("];
    if (item.kind === "group_end") return [`) ${item.summary}`.trim()];
    return [lineOf(item)];
  });
}

function lineOf(block: Block): string {
  const run = block.run === "main" ? "" : `${block.run}: `;
  switch (block.kind) {
    case "thinking":
      return `${run}thinking ${block.text}`;
    case "text":
      return `${run}text${block.part ? " part" : ""}${block.final ? " final" : ""} ${block.text}`;
    case "tool_call":
      return `${run}call${block.hidden ? " hidden" : ""} ${block.name} ${JSON.stringify(block.input)}`;
    case "tool_result":
      return `${run}result${block.hidden ? " hidden" : ""} ${block.name} ${block.status} ${block.preview}`;
    case "notice":
      return `${run}notice ${block.notice} ${block.error?.code ?? ""}`.trim();
    default:
      return `${run}${block.kind}`;
  }
}
