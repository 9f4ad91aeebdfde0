/**
 * `TestQueue` is a queue of turns for tests of processes: a member starts the turns that name it, and every member starts
 * them once they were returned or recovered.
 */
import {
  DEATHS_BEFORE_ALONE,
  type HeldTurn,
  type StartedTurn,
  type StartTurns,
  type TurnQueue,
} from "../../src/store/turn-queue.ts";

export type QueueOfProcess = Pick<TurnQueue, "start" | "held" | "release" | "leave" | "recover">;

interface Row {
  readonly tenant: string;
  readonly session: string;
  readonly agent: string | null;
  /** The process that starts it first. Null: any */
  member: string | null;
  executor: string | null;
  epoch: number;
  deaths: number;
  attempts: number;
  isOver: boolean;
}

type NewTurn = Partial<Pick<Row, "tenant" | "agent" | "member" | "deaths">>;

export class TestQueue implements QueueOfProcess {
  readonly #rows = new Map<string, Row>();

  add(session: string, { tenant = "t", agent = null, member = null, deaths = 0 }: NewTurn = {}): void {
    const row = {
      tenant,
      session,
      agent,
      member,
      deaths,
      executor: null,
      epoch: 0,
      attempts: 0,
      isOver: false,
    };
    this.#rows.set(session, row);
  }

  get size(): number {
    return this.#rows.size;
  }

  remove(session: string): void {
    this.#rows.delete(session);
  }

  end(session: string): void {
    this.#row(session).isOver = true;
  }

  isRunning(session: string): boolean {
    return !this.#row(session).isOver;
  }

  /** The process that runs the turn. */
  executorOf(session: string): string | null {
    return this.#row(session).executor;
  }

  /** Gives a turn to another process, as a takeover does. */
  giveTo(executor: string, session: string): void {
    const row = this.#row(session);
    row.executor = executor;
    row.epoch++;
  }

  async start({ executor, agents, limit, skipTenants = [], isIdle }: StartTurns): Promise<StartedTurn[]> {
    const found = this.#left(null)
      .filter(({ agent }) => agent === null || agents.includes(agent))
      .filter(({ member }) => member === null || member === executor)
      .filter(
        ({ deaths, tenant }) => (isIdle || deaths < DEATHS_BEFORE_ALONE) && !skipTenants.includes(tenant),
      )
      .slice(0, limit);
    const isAlone = isIdle && (found[0]?.deaths ?? 0) >= DEATHS_BEFORE_ALONE;
    const chosen = found.filter(({ deaths }, n) => (isAlone ? n === 0 : deaths < DEATHS_BEFORE_ALONE));
    return chosen.map((row) => {
      row.executor = executor;
      row.epoch++;
      row.attempts++;
      return { held: toHeld(row, executor), row: toTurn(row), isAlone };
    });
  }

  async held(executor: string): Promise<HeldTurn[]> {
    return this.#left(executor).map((row) => toHeld(row, executor));
  }

  async release(turns: readonly HeldTurn[]): Promise<void> {
    for (const { session, executor, epoch } of turns) {
      const row = this.#rows.get(session);
      if (row?.executor === executor && row.epoch === epoch) returnTurn(row);
    }
  }

  async leave(executor: string): Promise<boolean> {
    for (const row of this.#left(executor)) returnTurn(row);
    return true;
  }

  async recover(executor: string, { limit }: { readonly limit: number }): Promise<number> {
    const left = this.#left(executor).slice(0, limit);
    for (const row of left) {
      row.deaths++;
      returnTurn(row);
    }
    return left.length;
  }

  /** The turns that this process runs, or the queued ones for null. */
  #left(executor: string | null): Row[] {
    return [...this.#rows.values()].filter((row) => !row.isOver && row.executor === executor);
  }

  #row(session: string): Row {
    const row = this.#rows.get(session);
    if (row === undefined) throw new Error(`no turn of session ${session}`);
    return row;
  }
}

function returnTurn(row: Row): void {
  row.member = null;
  row.executor = null;
}

function toHeld({ tenant, session, epoch }: Row, executor: string): HeldTurn {
  return { tenant, session, executor, epoch };
}

function toTurn({ tenant, session, agent, attempts, deaths }: Row): StartedTurn["row"] {
  return {
    tenant,
    session,
    user: "u",
    turn: `turn of ${session}`,
    message: null,
    retries: null,
    options: { agent },
    startedAt: 0,
    attempts,
    attemptsWithoutProgress: attempts,
    deaths,
    stop: null,
    apiKey: null,
    usageLimits: null,
  };
}
