/**
 * Which call a server means when it asks for something. Over HTTP that follows from the answer in which it asks; over
 * stdio nothing says it, so there it is clear only while no other turn has a call on the same connection. Where it is
 * not clear nobody is asked: a question of one person's call must not be shown to another.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Env } from "../util/env.ts";
import type { ToolContext } from "../runtime/define/tool.ts";

export interface RunningCall {
  readonly context: ToolContext;
  isOver: boolean;
  /** How often the server has asked in it. */
  asked: number;
  /** Forms of one call come one after the other. */
  turn: Promise<unknown>;
}

/** A server may not have heard yet that a call was given up, and ask for it still. */
const LINGER_MS = 10 * 60 * 1_000;

const current = new AsyncLocalStorage<RunningCall | null>();

/** Whatever a connection does by itself belongs to no call, also when a call was the first to need it. */
export function withoutCallContext<T>(work: () => T): T {
  return current.run(null, work);
}

export class RunningCalls {
  readonly #env: Env;
  readonly #hasOwnStreams: boolean;
  readonly #live = new Set<RunningCall>();
  readonly #givenUp = new Map<RunningCall, number>();

  /** @param hasOwnStreams whether each call has a stream of its own, as over HTTP */
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

  /** The call in which the server asks; null when that is not certain. */
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
