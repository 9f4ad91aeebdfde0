/**
 * `GatewayRound` runs one turn that clients of every dialect follow through two gateways, with one fault in its middle.
 *
 * Invariant: in the end every client shows exactly the log, whatever happened to its connection.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import type { Frame } from "@turnstream/conformance/clients/rendered-state.ts";
import type { SessionEvent, Turn } from "@turnstream/protocol";
import type { SessionRef } from "@turnstream/server";
import type { LogEntry } from "@turnstream/server/internal";
import { until } from "@turnstream/testkit/util/until.ts";
import { atMoment } from "./at-moment.ts";
import { findDifference, renderExpected } from "./render-expected.ts";
import type { GatewayProgram } from "@turnstream/testkit/gateway/gateway-program.ts";
import type { GatewayEnvironment } from "./gateway-environment.ts";
import { CLIENT_KINDS } from "./client-kinds.ts";
import { checkPlan } from "./check-plan.ts";
import { ReconnectingClient } from "./reconnecting-client.ts";
import {
  countRunningTools,
  CALLS,
  FOREVER_MS,
  isTakenOver,
  createNestedPlan,
  checkStopped,
  TOOLS,
} from "./stop.ts";
import type { TurnFollower } from "./turn-follower.ts";
import { type Plan, randomPlan } from "./turn-plan.ts";
import { findTurn } from "./turn-environment.ts";

export const FAULTS = ["none", "gateway", "redis", "leave", "stop", "wipe"] as const;

export type Fault = (typeof FAULTS)[number];

export interface Found {
  readonly rounds: Record<Fault, number>;
  viewers: number;
  /** Connections that were lost and reopened. */
  returns: number;
  /** Resyncs after a wipe, and after any other fault. */
  resyncs: number;
  resyncsWithoutWipe: number;
  slowestReportMs: number;
  slowestStopMs: number;
  /** How many stop calls were the first one of their turn. */
  firstStops: number;
  readonly problems: string[];
}

/** About how long an event takes to reach the clients. */
const SEEN_MS = 15;
/** How long clients may take to receive everything after the turn has ended. */
const CAUGHT_UP_MS = 40_000;

export class GatewayRound {
  readonly #environment: GatewayEnvironment;
  readonly #gateways: GatewayProgram[];
  readonly #random: () => number;
  readonly #found: Found;

  /** @param gateways the running gateways; a killed one is replaced in this list */
  constructor(
    environment: GatewayEnvironment,
    gateways: GatewayProgram[],
    random: () => number,
    found: Found,
  ) {
    this.#environment = environment;
    this.#gateways = gateways;
    this.#random = random;
    this.#found = found;
  }

  async run(name: string, fault: Fault): Promise<void> {
    const { turns } = this.#environment;
    const ref = await this.#environment.createSession();
    const follower = turns.follow(ref);
    const viewers = this.#viewers(ref);
    const plan = fault === "stop" ? createNestedPlan(name, FOREVER_MS) : randomPlan(name, this.#random, 0.4);
    const message = await this.#send(viewers, plan);
    if (fault === "stop") await until("the tools to run", () => countRunningTools(follower) >= TOOLS);
    else if (fault === "wipe") await untilText(follower);
    else {
      await until("the turn to start", () => follower.state.turns.length > 0, { everyMs: 2 });
      await sleep(100 + this.#random() * 800);
    }
    await this.#do(fault, ref, viewers);
    await turns.untilIdle(ref);
    await follower.stop();
    const { state, events, illegal } = await turns.checkSession(ref);
    const turn = findTurn(state, message);
    const problems = turn === undefined ? ["the turn is missing"] : judged(turn, events, plan, fault);
    this.#found.problems.push(...illegal, ...problems.map((problem) => `${name} ${fault}: ${problem}`));
    await Promise.all(viewers.map((each) => this.#compare(`${name} ${fault}`, each, events, fault)));
    this.#found.rounds[fault]++;
  }

  #viewers({ session }: SessionRef): ReconnectingClient[] {
    const endpoints = (): Endpoint[] => this.#gateways.map((gateway) => this.#environment.endpoint(gateway));
    return this.#gateways.flatMap((_, n) =>
      CLIENT_KINDS.map((kind) => new ReconnectingClient({ session, ...kind }, endpoints, n)),
    );
  }

  /** Sends the message over the first socket, after every client has subscribed. */
  async #send(viewers: readonly ReconnectingClient[], plan: Plan): Promise<string> {
    for (const { client } of viewers) {
      await client.until("subscribed", () => client.rendered.starts.length > 0);
    }
    const client_message_id = `m-${randomUUID()}`;
    const text = JSON.stringify(plan);
    const reply = await viewers[0]?.client.command({ type: "send", client_message_id, text });
    if (reply?.type !== "ack") throw new Error(`the message was refused: ${JSON.stringify(reply)}`);
    return reply["user_message_id"] as string;
  }

  async #do(fault: Fault, ref: SessionRef, viewers: readonly ReconnectingClient[]): Promise<void> {
    const { turns } = this.#environment;
    if (fault === "gateway") await this.#killOne();
    if (fault === "redis") await turns.backend.redis.restart();
    if (fault === "leave") {
      for (const client of viewers) client.leave();
      await turns.untilIdle(ref);
      for (const client of viewers) client.comeBack();
    }
    if (fault === "stop") await this.#stop(ref, viewers);
    if (fault === "wipe") {
      const at = performance.now();
      await turns.backend.redis.command("FLUSHALL");
      await turns.untilIdle(ref);
      const restarts = viewers.flatMap((client) => client.starts.find((each) => each.at > at) ?? []);
      const slowest = Math.max(0, ...restarts.map((each) => each.at - at));
      this.#found.slowestReportMs = Math.max(this.#found.slowestReportMs, slowest);
    }
  }

  async #killOne(): Promise<void> {
    const n = Math.floor(this.#random() * this.#gateways.length);
    await this.#gateways[n]?.kill();
    this.#gateways.splice(n, 1, await this.#environment.launchGateway());
  }

  /** Sends a hundred stops at once: half through each gateway, and half of those over sockets. */
  async #stop(ref: SessionRef, viewers: readonly ReconnectingClient[]): Promise<void> {
    const sockets = viewers.filter(({ client }) => client.options.wire === "socket");
    const at = performance.now();
    const ended = Promise.all(
      viewers.map(async ({ client }) => {
        await client.until("stopped", () => client.rendered.frames.some(isEnd), 30_000);
        return performance.now() - at;
      }),
    );
    const calls = Array.from({ length: CALLS }, async (_, n) => {
      const gateway = this.#gateways[n % this.#gateways.length] as GatewayProgram;
      const socket = sockets[Math.floor(n / 2) % sockets.length]?.client;
      return n % 4 < 2 || socket === undefined
        ? postStop(this.#environment.endpoint(gateway), ref)
        : socket.command({ type: "stop" });
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
    each: ReconnectingClient,
    events: readonly SessionEvent[],
    fault: Fault,
  ): Promise<void> {
    const { client, returns } = each;
    const { dialect } = client.options;
    const problem = (text: string) => this.#found.problems.push(`${about}, ${client.name}: ${text}`);
    const expected = renderExpected(dialect, events);
    const isDone = () => client.rendered.cursor === expected.cursor;
    await client.until("caught up", isDone, CAUGHT_UP_MS).catch((error: unknown) => problem(String(error)));
    each.leave();
    const resyncs = each.starts.slice(1).filter(({ start }) => !start.resumed).length;
    this.#found.viewers++;
    this.#found.returns += returns;
    if (fault === "wipe") this.#found.resyncs += resyncs;
    else this.#found.resyncsWithoutWipe += resyncs;
    client.rendered.problems.forEach(problem);
    const [actual, wanted] = [client.rendered.display(), expected.display()];
    // `responses` can't resync after a wipe. Only its final text is promised.
    const isLossy = fault === "wipe" && dialect === "responses";
    const difference = isLossy
      ? findDifference(outputOf(actual), outputOf(wanted))
      : findDifference(actual, wanted);
    if (difference !== null) problem(difference);
  }
}

/** Waits until text has reached the clients. It is not archived yet. */
async function untilText(follower: TurnFollower): Promise<void> {
  await atMoment([follower], { act: isText, timeoutMs: 10_000 });
  await sleep(SEEN_MS);
}

function isText({ event }: LogEntry): boolean {
  return event.type === "text.delta" || event.type === "thinking.delta";
}

const outputOf = (display: unknown): unknown => (display as { output: unknown }).output;

/** The frames that end a stopped turn, in each dialect. */
const ENDS = new Set(["message_stop", "turn.end", "response.output_text.completed"]);

function isEnd({ type, stop_reason }: Frame): boolean {
  return ENDS.has(type) || (type === "task.done" && stop_reason !== undefined);
}

function judged(turn: Turn, events: readonly SessionEvent[], plan: Plan, fault: Fault): string[] {
  if (fault === "stop") return checkStopped(turn, events, TOOLS);
  const mayBeCut = fault === "wipe" || fault === "redis" || isTakenOver(events);
  return checkPlan(turn, plan, mayBeCut).problems;
}

async function postStop(
  { url, headers }: Endpoint,
  { session }: SessionRef,
): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}/api/v1/sessions/${session}/stop`, { method: "POST", headers });
  return (await response.json()) as Record<string, unknown>;
}
