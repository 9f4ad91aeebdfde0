/**
 * `ModelEnvironment` starts servers, a model provider that counts its requests, and worker processes. It starts turns,
 * finds the worker of each of them, and judges how they ended. Does not cause faults.
 */
import { randomUUID } from "node:crypto";
import { listBlocks, type Turn } from "@turnstream/protocol";
import { sendMessage, type SessionRef } from "@turnstream/server";
import { type StartedBackend, startBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import type { ModelWorkerSettings } from "../processes/model-worker.ts";
import type { Figure } from "../scenario.ts";
import { ACTOR, TurnEnvironment } from "../turn-environment.ts";
import type { TurnFollower } from "../turn-follower.ts";
import { ModelWorkerProcess } from "./model-worker-process.ts";
import { expectedText, messageText, StandInProvider } from "./stand-in-provider.ts";

/** A turn that the scenario has started. */
export interface StartedTurn {
  readonly name: string;
  readonly message: string;
  readonly answerMs: number;
  readonly follower: TurnFollower;
}

/** How turns ended that were meant to end with their whole answer. */
export interface TurnResults {
  turns: number;
  calls: number;
  mostCalls: number;
  /** Turns with one model call and no takeover. */
  unaffected: number;
  takeovers: number;
  readonly problems: string[];
}

const END_MS = 120_000;

export class ModelEnvironment {
  readonly turns: TurnEnvironment;
  readonly provider: StandInProvider;
  readonly workers: ModelWorkerProcess[] = [];
  #launched = 0;
  #started = 0;

  private constructor(turns: TurnEnvironment, provider: StandInProvider) {
    this.turns = turns;
    this.provider = provider;
  }

  /** Runs `use`, reports the errors of workers, and stops every process and server, also after an error. */
  static async use<T>(
    progress: (text: string) => void,
    use: (environment: ModelEnvironment) => Promise<T>,
    start: () => Promise<StartedBackend> = startBackend,
  ): Promise<T> {
    const provider = await StandInProvider.start();
    try {
      return await TurnEnvironment.over(await start(), async (turns) => {
        const environment = new ModelEnvironment(turns, provider);
        try {
          return await use(environment);
        } finally {
          const failures = environment.workers.flatMap((worker) => worker.failures);
          for (const failure of new Set(failures.map(withoutIds))) progress(`in a worker: ${failure}`);
          await Promise.all(environment.living.map((worker) => worker.kill()));
        }
      });
    } finally {
      await provider.close();
    }
  }

  get living(): ModelWorkerProcess[] {
    return this.workers.filter(({ hasExited }) => !hasExited);
  }

  async launchWorker(
    settings: Partial<ModelWorkerSettings> = {},
    launcher: readonly string[] = [],
  ): Promise<ModelWorkerProcess> {
    const { databaseUrl, redisUrl } = this.turns.backend;
    const name = `worker-${++this.#launched}`;
    const base = { name, databaseUrl, redisUrl, modelUrl: this.provider.url };
    const worker = new ModelWorkerProcess({ ...base, ...settings }, launcher);
    this.workers.push(worker);
    await worker.waitFor("ready");
    return worker;
  }

  async launchWorkers(
    count: number,
    settings: Partial<ModelWorkerSettings> = {},
  ): Promise<ModelWorkerProcess[]> {
    return Promise.all(Array.from({ length: count }, () => this.launchWorker(settings)));
  }

  /**
   * Sends the messages of `count` turns, each in a session of its own.
   * @param prepare called before the message is sent
   */
  async start(
    count: number,
    answerMs: number,
    nameOf = (name: string) => name,
    prepare: (ref: SessionRef) => Promise<void> = async () => undefined,
  ): Promise<StartedTurn[]> {
    const started: StartedTurn[] = [];
    for (let n = 0; n < count; n++) {
      const ref = await this.turns.createSession();
      const name = nameOf(`t${++this.#started}`);
      const message = `m-${randomUUID()}`;
      started.push({ name, message, answerMs, follower: this.turns.follow(ref) });
      await prepare(ref);
      await sendMessage(this.turns.backend, ref, {
        id: message,
        text: messageText(name, answerMs),
        userId: ACTOR.user,
      });
    }
    return started;
  }

  /** Waits until the model has been asked for each of these turns. */
  async untilAsked(turns: readonly StartedTurn[]): Promise<void> {
    const isAsked = () => turns.every(({ name }) => this.provider.countCalls(name) > 0);
    await until("the model to be asked for every turn", isAsked);
  }

  /** Waits for the end of each turn. Null stands for a turn that didn't end. */
  async untilEnded(turns: readonly StartedTurn[]): Promise<(Turn | null)[]> {
    return Promise.all(
      turns.map(({ follower, message }) => follower.untilEnded(message, END_MS).catch(() => null)),
    );
  }

  /** Waits for the ends of turns, compares their answers, and adds the counts to `results`. */
  async judge(turns: readonly StartedTurn[], results: TurnResults): Promise<void> {
    const ended = await this.untilEnded(turns);
    for (const [n, { name, answerMs, follower }] of turns.entries()) {
      const turn = ended[n] ?? null;
      if (turn !== null) await this.turns.untilIdle(follower.ref);
      await follower.stop();
      const calls = this.provider.countCalls(name);
      results.turns++;
      results.calls += calls;
      results.mostCalls = Math.max(results.mostCalls, calls);
      results.takeovers += follower.takeovers;
      if (calls === 1 && follower.takeovers === 0) results.unaffected++;
      if (turn === null) results.problems.push(`${name} did not end`);
      else if (turn.status !== "end_turn") results.problems.push(`${name} ended with status ${turn.status}`);
      else if (readText(turn) !== expectedText(answerMs))
        results.problems.push(`${name} ended with "${readText(turn)}"`);
      const { illegal } = await this.turns.checkSession(follower.ref);
      results.problems.push(...illegal, ...follower.illegal);
    }
  }
}

/** The same error in several sessions is reported once. */
function withoutIds(failure: string): string {
  return failure.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "…").slice(0, 200);
}

function readText(turn: Turn): string {
  return listBlocks(turn)
    .map((block) => (block.kind === "text" ? block.text : ""))
    .join("");
}

export function createResults(): TurnResults {
  return { turns: 0, calls: 0, mostCalls: 0, unaffected: 0, takeovers: 0, problems: [] };
}

/** @param maxCallsPerTurn the promised mean, if there is a promise */
export function resultFigures(results: TurnResults, maxCallsPerTurn?: number): Figure[] {
  const { turns, calls, mostCalls, unaffected, takeovers, problems } = results;
  return [
    { figure: "turns", value: turns, atLeast: 1 },
    { figure: "turns that did not end as planned", value: problems.length, exactly: 0 },
    {
      figure: "model calls per turn",
      value: Number((calls / turns).toFixed(3)),
      ...(maxCallsPerTurn === undefined ? {} : { atMost: maxCallsPerTurn }),
    },
    { figure: "most model calls of one turn", value: mostCalls },
    { figure: "turns with one model call and no takeover", value: unaffected },
    { figure: "takeovers", value: takeovers },
  ];
}
