/**
 * One turn that is watched through two gateways in every dialect, and one fault in its middle. Afterwards every viewer
 * must see what the log holds, whatever became of its connection.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Door } from "@turnstream/conformance/clients/connections.ts";
import type { Frame } from "@turnstream/conformance/clients/rendered-state.ts";
import type { SessionEvent, Turn } from "@turnstream/protocol";
import type { LogEntry, SessionRef } from "@turnstream/server";
import { until } from "@turnstream/testkit/util/until.ts";
import { atMoment } from "./aim.ts";
import { differenceOf, expectedScreen } from "./expected-screens.ts";
import type { GatewayProcess } from "./gateway-process.ts";
import type { GatewayStage } from "./gateway-stage.ts";
import { KINDS } from "./client-kinds.ts";
import { judge } from "./check-plan.ts";
import { ReturningViewer } from "./reconnecting-client.ts";
import { atWork, CALLS, FOREVER_MS, isTakenOver, nested, stoppedWrongly, TOOLS } from "./stop.ts";
import type { TurnFollower } from "./turn-follower.ts";
import { type Plan, randomPlan } from "./turn-plan.ts";
import { turnOf } from "./turn-stage.ts";

export const FAULTS = ["none", "gateway", "redis", "leave", "stop", "wipe"] as const;

export type Fault = (typeof FAULTS)[number];

export interface Found {
  readonly rounds: Record<Fault, number>;
  viewers: number;
  /** Connections that were lost and made again. */
  returns: number;
  /** Told to begin anew, by a wipe and by anything else. */
  anew: number;
  anewWithoutWipe: number;
  slowestToldMs: number;
  slowestStopMs: number;
  /** How many calls to stop were the one that did it. */
  firstStops: number;
  readonly problems: string[];
}

/** How long an event takes to the screens, about. */
const SEEN_MS = 15;
/** How long viewers may take to have everything once the turn is over. */
const CAUGHT_UP_MS = 40_000;

export class GatewayRound {
  readonly #stage: GatewayStage;
  readonly #gateways: GatewayProcess[];
  readonly #random: () => number;
  readonly #found: Found;

  /** @param gateways a killed one is replaced in it */
  constructor(stage: GatewayStage, gateways: GatewayProcess[], random: () => number, found: Found) {
    this.#stage = stage;
    this.#gateways = gateways;
    this.#random = random;
    this.#found = found;
  }

  async run(name: string, fault: Fault): Promise<void> {
    const { turns } = this.#stage;
    const ref = await this.#stage.session();
    const follower = turns.follow(ref);
    const viewers = this.#viewers(ref);
    const plan = fault === "stop" ? nested(name, FOREVER_MS) : randomPlan(name, this.#random, 0.4);
    const message = await this.#send(viewers, plan);
    if (fault === "stop") await until("the tools to run", () => atWork(follower) >= TOOLS);
    else if (fault === "wipe") await untilSaid(follower);
    else {
      await until("the turn to begin", () => follower.running !== undefined, { everyMs: 2 });
      await sleep(100 + this.#random() * 800);
    }
    await this.#do(fault, ref, viewers);
    await turns.idle(ref);
    await follower.stop();
    const { state, events, illegal } = await turns.look(ref);
    const turn = turnOf(state, message);
    const problems = turn === undefined ? ["no turn"] : judged(turn, events, plan, fault);
    this.#found.problems.push(...illegal, ...problems.map((problem) => `${name} ${fault}: ${problem}`));
    await Promise.all(viewers.map((each) => this.#compare(`${name} ${fault}`, each, events, fault)));
    this.#found.rounds[fault]++;
  }

  #viewers({ session }: SessionRef): ReturningViewer[] {
    const doors = (): Door[] => this.#gateways.map(({ door }) => door);
    return this.#gateways.flatMap((_, n) =>
      KINDS.map((kind) => new ReturningViewer({ session, ...kind }, doors, n)),
    );
  }

  /** Over the first socket, once everybody looks. */
  async #send(viewers: readonly ReturningViewer[], plan: Plan): Promise<string> {
    for (const { viewer } of viewers) {
      await viewer.until("subscribed", () => viewer.screen.told.length > 0);
    }
    const client_message_id = `m-${randomUUID()}`;
    const text = JSON.stringify(plan);
    const reply = await viewers[0]?.viewer.command({ type: "send", client_message_id, text });
    if (reply?.type !== "ack") throw new Error(`the message was refused: ${JSON.stringify(reply)}`);
    return reply["user_message_id"] as string;
  }

  async #do(fault: Fault, ref: SessionRef, viewers: readonly ReturningViewer[]): Promise<void> {
    const { turns } = this.#stage;
    if (fault === "gateway") await this.#killOne();
    if (fault === "redis") await turns.redis.restart();
    if (fault === "leave") {
      for (const viewer of viewers) viewer.leave();
      await turns.idle(ref);
      for (const viewer of viewers) viewer.comeBack();
    }
    if (fault === "stop") await this.#stop(ref, viewers);
    if (fault === "wipe") {
      const at = performance.now();
      await turns.redis.command("FLUSHALL");
      await turns.idle(ref);
      const told = viewers.flatMap((viewer) => viewer.told.find((each) => each.at > at) ?? []);
      const slowest = Math.max(0, ...told.map((each) => each.at - at));
      this.#found.slowestToldMs = Math.max(this.#found.slowestToldMs, slowest);
    }
  }

  async #killOne(): Promise<void> {
    const n = Math.floor(this.#random() * this.#gateways.length);
    await this.#gateways[n]?.kill();
    this.#gateways.splice(n, 1, await this.#stage.gateway());
  }

  /** A hundred at once, half of them through each gateway, half of these over sockets. */
  async #stop(ref: SessionRef, viewers: readonly ReturningViewer[]): Promise<void> {
    const sockets = viewers.filter(({ viewer }) => viewer.options.wire === "socket");
    const at = performance.now();
    const ended = Promise.all(
      viewers.map(async ({ viewer }) => {
        await viewer.until("stopped", () => viewer.screen.frames.some(isEnd), 30_000);
        return performance.now() - at;
      }),
    );
    const calls = Array.from({ length: CALLS }, async (_, n) => {
      const { door } = this.#gateways[n % this.#gateways.length] as GatewayProcess;
      const socket = sockets[Math.floor(n / 2) % sockets.length]?.viewer;
      return n % 4 < 2 || socket === undefined ? postStop(door, ref) : socket.command({ type: "stop" });
    });
    const answers = await Promise.all(calls);
    this.#found.slowestStopMs = Math.max(this.#found.slowestStopMs, ...(await ended));
    const refused = answers.filter(({ error }) => error !== undefined);
    if (refused.length > 0)
      this.#found.problems.push(`${refused.length} stops refused: ${JSON.stringify(refused[0])}`);
    this.#found.firstStops += answers.filter(({ receipt }) => receipt === "stopping").length;
  }

  async #compare(
    about: string,
    each: ReturningViewer,
    events: readonly SessionEvent[],
    fault: Fault,
  ): Promise<void> {
    const { viewer, returns } = each;
    const { dialect } = viewer.options;
    const problem = (text: string) => this.#found.problems.push(`${about}, ${viewer.name}: ${text}`);
    const expected = expectedScreen(dialect, events);
    const isDone = () => viewer.screen.cursor === expected.cursor;
    await viewer.until("caught up", isDone, CAUGHT_UP_MS).catch((error: unknown) => problem(String(error)));
    each.leave();
    const anew = each.told.slice(1).filter(({ told }) => !told.resumed).length;
    this.#found.viewers++;
    this.#found.returns += returns;
    if (fault === "wipe") this.#found.anew += anew;
    else this.#found.anewWithoutWipe += anew;
    viewer.screen.problems.forEach(problem);
    const [actual, wanted] = [viewer.screen.display(), expected.display()];
    // Of `responses`, which can't begin anew, the final text is right and nothing else is promised.
    const isLossy = fault === "wipe" && dialect === "responses";
    const difference = isLossy
      ? differenceOf(outputOf(actual), outputOf(wanted))
      : differenceOf(actual, wanted);
    if (difference !== null) problem(difference);
  }
}

/** Somebody speaks: what is said is on the screens, and not archived yet. */
async function untilSaid(follower: TurnFollower): Promise<void> {
  await atMoment([follower], { act: isSaid, timeoutMs: 10_000 });
  await sleep(SEEN_MS);
}

function isSaid({ event }: LogEntry): boolean {
  return event.type === "text.delta" || event.type === "thinking.delta";
}

const outputOf = (display: unknown): unknown => (display as { output: unknown }).output;

/** How the end of a turn that was stopped is told. */
const ENDS = new Set(["message_stop", "turn.end", "response.output_text.completed"]);

function isEnd({ type, stop_reason }: Frame): boolean {
  return ENDS.has(type) || (type === "task.done" && stop_reason !== undefined);
}

function judged(turn: Turn, events: readonly SessionEvent[], plan: Plan, fault: Fault): string[] {
  if (fault === "stop") return stoppedWrongly(turn, events, TOOLS);
  const mayBeCut = fault === "wipe" || fault === "redis" || isTakenOver(events);
  return judge(turn, plan, mayBeCut).problems;
}

async function postStop({ url, headers }: Door, { session }: SessionRef): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}/api/v1/sessions/${session}/stop`, { method: "POST", headers });
  return (await response.json()) as Record<string, unknown>;
}
