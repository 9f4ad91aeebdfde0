/**
 * `RunningCalls` determines which call a server's request belongs to. Over HTTP the response stream identifies the
 * call. Over stdio it is known only while all calls on the connection belong to one turn.
 * Invariant: if the call is uncertain, `asking` returns null: a form of one user's call must not be shown to another
 * user. Aborted calls count for 10 more minutes, because the server may still send requests for them. Work of the
 * connection itself runs in `withoutCallContext`.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Env } from "@turnstream/server/internal";
import type { ToolContext } from "@turnstream/server";

export interface RunningCall {
  readonly context: ToolContext;
  isOver: boolean;
  /** Number of forms that the server has requested in this call. */
  asked: number;
  /** The last form of this call, so that forms are shown one after the other. */
  turn: Promise<unknown>;
}

/** A server may still send requests for an aborted call until it has processed the abort. */
const LINGER_MS = 10 * 60 * 1_000;

const current = new AsyncLocalStorage<RunningCall | null>();

/**
 * Runs work outside of any call. The connection's own work belongs to no call, even if a call opened the connection.
 */
export function withoutCallContext<T>(work: () => T): T {
  return current.run(null, work);
}

export class RunningCalls {
  readonly #env: Env;
  readonly #hasOwnStreams: boolean;
  readonly #live = new Set<RunningCall>();
  readonly #givenUp = new Map<RunningCall, number>();

  /** @param hasOwnStreams true if each call has its own stream, as over HTTP */
  constructor(env: Env, hasOwnStreams: boolean) {
    this.#env = env;
    this.#hasOwnStreams = hasOwnStreams;
  }

  get size(): number {
    return this.#live.size;
  }

  async run<T>(context: ToolContext, work: () => Promise<T>): Promise<T> {
    const call: RunningCall = { context, isOver: false, asked: 0, turn: Promise.resolve() };
    this.#live.add(call);
    try {
      return await current.run(call, work);
    } finally {
      call.isOver = true;
      this.#live.delete(call);
      if (context.signal.aborted) this.#givenUp.set(call, this.#env.now() + LINGER_MS);
    }
  }

  /** Returns the call that the current request belongs to, or null if that is uncertain. */
  asking(): RunningCall | null {
    const own = current.getStore() ?? null;
    if (own !== null) return own.isOver ? null : own;
    if (this.#hasOwnStreams) return null;
    for (const [call, until] of this.#givenUp) if (until < this.#env.now()) this.#givenUp.delete(call);
    const turns = new Set([...this.#live, ...this.#givenUp.keys()].map(({ context }) => turnOf(context)));
    return turns.size === 1 ? ([...this.#live].at(-1) ?? null) : null;
  }
}

function turnOf({ tenant, session, turn }: ToolContext): string {
  return JSON.stringify([tenant, session, turn]);
}
