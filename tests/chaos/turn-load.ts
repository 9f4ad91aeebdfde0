/**
 * `TurnLoad` sends messages whose turns play plans, and judges each turn after its end: it ended as planned, every event
 * is legal, its tools took effect at most once, and nothing of it is left over.
 */
import type { SessionEvent, Turn } from "@turnstream/protocol";
import type { CheckOptions } from "@turnstream/testkit/history/check-history.ts";
import { checkPlan, type Verdict } from "./check-plan.ts";
import { type Bounds, Figures } from "./figures.ts";
import type { Figure, RunOptions } from "./scenario.ts";
import { findTurn, TurnEnvironment } from "./turn-environment.ts";
import type { TurnFollower } from "./turn-follower.ts";
import { listOnceKeys, type Plan } from "./turn-plan.ts";

/** So many unexpected errors of processes are printed. */
const MAX_FAILURES = 10;

/** A turn whose message was sent. */
export interface LoadedTurn {
  readonly plan: Plan;
  readonly message: string;
  readonly follower: TurnFollower;
}

/** A turn after its end. Its verdict is empty if another check than that of its plan judged it. */
export interface JudgedTurn extends Verdict {
  readonly turn: Turn;
  readonly takeovers: number;
}

type Check = (turn: Turn, events: readonly SessionEvent[]) => string[] | Promise<string[]>;

/** What a scenario of turns works with. */
export interface TurnRun<Name extends string> {
  readonly environment: TurnEnvironment;
  readonly load: TurnLoad;
  readonly figures: Figures<Name>;
  readonly random: () => number;
}

/**
 * Runs a scenario on its own servers.
 * @param bounds of its figures, in addition to those of the load
 * @param use sends and judges turns, and injects faults
 */
export async function runTurns<Name extends string>(
  { times, random, progress }: RunOptions,
  bounds: Readonly<Record<Name, Bounds>>,
  use: (run: TurnRun<Name>) => Promise<void>,
): Promise<Figure[]> {
  return TurnEnvironment.use(async (environment) => {
    const figures = new Figures(progress, bounds);
    const load = new TurnLoad(environment, progress, times);
    await use({ environment, load, figures, random });
    return [...figures.list(), ...(await load.figures())];
  });
}

export class TurnLoad {
  readonly #environment: TurnEnvironment;
  readonly #progress: (text: string) => void;
  readonly #figures;
  /** Keys of tools that may run once, and of tools that succeeded. */
  readonly #once = new Set<string>();
  readonly #done = new Set<string>();

  /** @param least how many turns must be judged */
  constructor(environment: TurnEnvironment, progress: (text: string) => void, least: number) {
    this.#environment = environment;
    this.#progress = progress;
    this.#figures = new Figures(progress, {
      "turns judged": { atLeast: least },
      "turns that did not end as planned": { exactly: 0 },
      "events that broke a rule": { exactly: 0 },
      "duplicate effects of non-idempotent tools": { exactly: 0 },
      "results without an effect": { exactly: 0 },
      "tools cut off, outcome unknown": {},
      "turns left running": { exactly: 0 },
      "journal rows left": { exactly: 0 },
      "acknowledged appends in the history": { atLeast: least },
      "findings of the history check": { exactly: 0 },
    });
  }

  get judged(): number {
    return this.#figures.get("turns judged");
  }

  /** @param follower of the session. Default: that of a new session */
  async send(plan: Plan, follower?: TurnFollower): Promise<LoadedTurn> {
    const own = follower ?? this.#environment.follow(await this.#environment.createSession());
    return { plan, follower: own, message: await this.#environment.send(own.ref, plan) };
  }

  /**
   * Waits for the end of the turn, stops its follower and judges it.
   * @param check replaces the comparison with the plan
   */
  async judge({ plan, message, follower }: LoadedTurn, check?: Check): Promise<JudgedTurn> {
    await follower.untilEnded(message);
    await this.#environment.untilIdle(follower.ref);
    await follower.stop();
    const { state, events, illegal } = await this.#environment.checkSession(follower.ref);
    this.#figures.report("events that broke a rule", [...illegal, ...follower.illegal]);
    const turn = findTurn(state, message);
    if (turn === undefined) throw new Error(`${plan.name} is in the log, and not in the archive`);
    const takeovers = events.filter((event) => event.type === "turn.takeover" && event.turn === turn.id);
    const verdict =
      check === undefined
        ? checkPlan(turn, plan, takeovers.length > 0)
        : { problems: await check(turn, events), unknown: [], done: [], removed: [] };
    this.#figures.add("turns judged");
    this.#figures.add("tools cut off, outcome unknown", verdict.unknown.length);
    this.#figures.report("turns that did not end as planned", verdict.problems);
    for (const key of listOnceKeys(plan)) this.#once.add(key);
    for (const key of verdict.done) this.#done.add(key);
    return { ...verdict, turn, takeovers: takeovers.length };
  }

  /** Checks the history of all turns that were judged since the last call, and forgets it. No other turn may run. */
  checkHistory(options: CheckOptions = {}): void {
    const { acknowledged, findings } = this.#environment.checkHistory(options);
    this.#figures.add("acknowledged appends in the history", acknowledged);
    this.#figures.report("findings of the history check", findings);
  }

  /** Judges what is left when all turns have ended. */
  async figures(): Promise<Figure[]> {
    const effects = await this.#environment.countEffects();
    const twice = [...this.#once].filter((key) => (effects.get(key) ?? 0) > 1);
    const without = [...this.#done].filter((key) => !effects.has(key));
    const { running, journal } = await this.#environment.countLeftovers();
    this.#figures.report("duplicate effects of non-idempotent tools", twice);
    this.#figures.report("results without an effect", without);
    this.#figures.add("turns left running", running);
    this.#figures.add("journal rows left", journal);
    this.checkHistory();
    for (const failure of this.#environment.failures.slice(0, MAX_FAILURES)) this.#progress(failure);
    return this.#figures.list();
  }
}
