/**
 * `gateways` tests promises 6 and 10. It runs two gateways and two workers as processes on one Redis and one PostgreSQL.
 * Clients follow turns through both gateways in every dialect, over sockets and event streams. Meanwhile a gateway is
 * killed, Redis is restarted or wiped, all clients disconnect, or a hundred calls stop the turn, sometimes after its
 * worker was killed.
 *
 * Invariant: in the end every client shows exactly the log, whatever happened to its connection.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import type { Frame } from "@turnstream/conformance/clients/rendered-state.ts";
import type { SessionEvent } from "@turnstream/protocol";
import type { SessionRef } from "@turnstream/server";
import type { LogEntry } from "@turnstream/server/internal";
import type { GatewayProgram } from "@turnstream/testkit/gateway/gateway-program.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { atMoment } from "./at-moment.ts";
import { checkPlan } from "./check-plan.ts";
import { CLIENT_KINDS } from "./client-kinds.ts";
import { GatewayEnvironment } from "./gateway-environment.ts";
import { ReconnectingClient } from "./reconnecting-client.ts";
import { findDifference, renderExpected } from "./render-expected.ts";
import type { RunOptions, Scenario } from "./scenario.ts";
import { checkStopped, countRunningTools, createNestedPlan, TOOLS } from "./stopped-turn.ts";
import type { TurnFollower } from "./turn-follower.ts";
import { runTurns, type TurnRun } from "./turn-load.ts";
import { type Plan, randomPlan } from "./turn-plan.ts";

const FAULTS = ["none", "gateway", "redis", "leave", "stop", "kill and stop", "wipe"] as const;

type Fault = (typeof FAULTS)[number];

const WORKERS = 2;
const GATEWAYS = 2;
/** How soon clients must resync after Redis has lost events that they saw. */
const REPORT_MS = 1_000;
/** How long a stop may take. */
const STOP_MS = 2_000;

/** How many calls stop one turn. */
const CALLS = 100;
/** Longer than any round: only a stop ends such a tool. */
const FOREVER_MS = 120_000;
/** How long the tools of a turn run that all clients leave. */
const LEFT_MS = 400;
const MOMENT_MS = 60_000;
/** About how long an event takes to reach the clients. */
const SEEN_MS = 15;
/** How long clients may take to receive everything after the turn has ended. */
const CAUGHT_UP_MS = 40_000;

function createBounds(times: number) {
  const each = Math.floor(times / FAULTS.length);
  return {
    "turns: none": { atLeast: each },
    "turns: gateway": { atLeast: each },
    "turns: redis": { atLeast: each },
    "turns: leave": { atLeast: each },
    "turns: stop": { atLeast: each },
    "turns: kill and stop": { atLeast: each },
    "turns: wipe": { atLeast: each },
    clients: { exactly: times * GATEWAYS * CLIENT_KINDS.length },
    "connections lost and reopened": { atLeast: each * CLIENT_KINDS.length },
    "clients that differ from the log": { exactly: 0 },
    "resyncs after a wipe": { atLeast: each },
    "slowest resync after a wipe": { atMost: REPORT_MS, unit: "ms" },
    "resyncs without a wipe": { exactly: 0 },
    "calls to stop that failed": { exactly: 0 },
    "stops with more or fewer than one receipt": { exactly: 0 },
    "tools and sub-agents that ran when stopped": { atLeast: 9 * each },
    "slowest stop until all clients had received it": { atMost: STOP_MS, unit: "ms" },
  };
}

type Run = TurnRun<keyof ReturnType<typeof createBounds>>;

async function run(options: RunOptions) {
  const { times } = options;
  return runTurns(options, createBounds(times), async (turnRun) => {
    const environment = await GatewayEnvironment.over(turnRun.environment);
    const gateways = await Promise.all(Array.from({ length: GATEWAYS }, () => environment.launchGateway()));
    const round = new GatewayRound(turnRun, environment, gateways);
    for (let n = 0; n < times; n++) {
      await environment.turns.keepReadyWorkers(WORKERS);
      await round.run(`g${n}`, FAULTS[n % FAULTS.length] ?? "none");
      turnRun.figures.print(`${n + 1} of ${times}`);
    }
  });
}

class GatewayRound {
  readonly #run: Run;
  readonly #environment: GatewayEnvironment;
  readonly #gateways: GatewayProgram[];

  /** @param gateways the running gateways; a killed one is replaced in this list */
  constructor(turnRun: Run, environment: GatewayEnvironment, gateways: GatewayProgram[]) {
    this.#run = turnRun;
    this.#environment = environment;
    this.#gateways = gateways;
  }

  async run(name: string, fault: Fault): Promise<void> {
    const { turns } = this.#environment;
    const follower = turns.follow(await turns.createSession());
    const viewers = this.#openViewers(follower.ref);
    const isStopped = fault === "stop" || fault === "kill and stop";
    const isNested = isStopped || fault === "leave";
    const plan = isNested
      ? createNestedPlan(name, isStopped ? FOREVER_MS : LEFT_MS)
      : randomPlan(name, this.#run.random, 0.4);
    const message = await this.#send(viewers, plan);
    // Some turns are stopped while they still start their tools, most after all tools run.
    const isEarly = !isStopped || this.#run.random() < 0.2;
    const tools = isEarly ? 1 + (isStopped ? Math.floor(this.#run.random() * TOOLS) : 0) : TOOLS;
    if (isNested) await reach(follower, () => countRunningTools(follower) >= tools);
    else if (fault === "wipe") {
      // This text has reached the clients, and is not archived yet.
      await reach(follower, (type) => type === "text.delta" || type === "thinking.delta");
      await sleep(SEEN_MS);
    } else {
      await until("the turn to start", () => follower.state.turns.length > 0, { everyMs: 2 });
      await sleep(100 + this.#run.random() * 800);
    }
    await this.#do(fault, follower, viewers);
    let events: readonly SessionEvent[] = [];
    await this.#run.load.judge({ plan, message, follower }, (turn, all) => {
      events = all;
      if (isStopped) return checkStopped(turn, all, tools).map((problem) => `${plan.name}: ${problem}`);
      const mayBeCut = fault === "wipe" || fault === "redis" || follower.takeovers > 0;
      return checkPlan(turn, plan, mayBeCut).problems;
    });
    await Promise.all(viewers.map((viewer) => this.#compare(`${name} ${fault}`, viewer, events, fault)));
    this.#run.load.checkHistory({ mayLose: fault === "wipe" });
    this.#run.figures.add(`turns: ${fault}`);
  }

  #openViewers({ session }: SessionRef): ReconnectingClient[] {
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

  async #do(fault: Fault, follower: TurnFollower, viewers: readonly ReconnectingClient[]): Promise<void> {
    const { turns } = this.#environment;
    const { ref } = follower;
    if (fault === "gateway") await this.#killGateway();
    if (fault === "redis") await turns.backend.redis.restart();
    if (fault === "leave") {
      for (const client of viewers) client.leave();
      await turns.untilIdle(ref);
      for (const client of viewers) client.comeBack();
    }
    if (fault === "kill and stop") {
      await turns.findOwner(follower)?.kill();
      turns.keepWorkers(WORKERS);
    }
    if (fault === "stop" || fault === "kill and stop") {
      const { open = 0, runs = [] } = follower.running ?? {};
      this.#run.figures.add("tools and sub-agents that ran when stopped", open + runs.length);
      const tookMs = await this.#stop(ref, viewers);
      if (fault === "stop") this.#run.figures.raise("slowest stop until all clients had received it", tookMs);
    }
    if (fault === "wipe") {
      const at = performance.now();
      await turns.backend.redis.command("FLUSHALL");
      await turns.untilIdle(ref);
      const restarts = viewers.flatMap((client) => client.starts.find((each) => each.at > at) ?? []);
      this.#run.figures.raise(
        "slowest resync after a wipe",
        Math.max(0, ...restarts.map((each) => each.at - at)),
      );
    }
  }

  async #killGateway(): Promise<void> {
    const n = Math.floor(this.#run.random() * this.#gateways.length);
    await this.#gateways[n]?.kill();
    this.#gateways.splice(n, 1, await this.#environment.launchGateway());
  }

  /**
   * Sends a hundred stops at once: half through each gateway, and half of those over sockets.
   * @returns how long it took until all clients had received the end
   */
  async #stop(ref: SessionRef, viewers: readonly ReconnectingClient[]): Promise<number> {
    const sockets = viewers.filter(({ client }) => client.options.wire === "socket");
    const at = performance.now();
    const calls = Array.from({ length: CALLS }, async (_, n) => {
      const gateway = this.#gateways[n % this.#gateways.length] as GatewayProgram;
      const socket = sockets[Math.floor(n / 2) % sockets.length]?.client;
      return n % 4 < 2 || socket === undefined
        ? postStop(this.#environment.endpoint(gateway), ref)
        : socket.command({ type: "stop" });
    });
    await Promise.all(
      viewers.map(({ client }) =>
        client.until("stopped", () => client.rendered.frames.some(isEnd), CAUGHT_UP_MS),
      ),
    );
    const tookMs = performance.now() - at;
    const answers: Record<string, unknown>[] = await Promise.all(calls);
    const refused = answers.filter(({ receipt }) => typeof receipt !== "string");
    this.#run.figures.report(
      "calls to stop that failed",
      refused.map((answer) => JSON.stringify(answer)),
    );
    const firsts = answers.filter(({ receipt }) => receipt === "stopping");
    if (firsts.length !== 1) this.#run.figures.add("stops with more or fewer than one receipt");
    return tookMs;
  }

  async #compare(
    about: string,
    viewer: ReconnectingClient,
    events: readonly SessionEvent[],
    fault: Fault,
  ): Promise<void> {
    const { client } = viewer;
    const { dialect } = client.options;
    const expected = renderExpected(dialect, events);
    const isDone = () => client.rendered.cursor === expected.cursor;
    const problems: string[] = [];
    await client
      .until("caught up", isDone, CAUGHT_UP_MS)
      .catch((error: unknown) => problems.push(String(error)));
    viewer.leave();
    const resyncs = viewer.starts.slice(1).filter(({ start }) => !start.resumed).length;
    this.#run.figures.add("clients");
    this.#run.figures.add("connections lost and reopened", viewer.returns);
    this.#run.figures.add(fault === "wipe" ? "resyncs after a wipe" : "resyncs without a wipe", resyncs);
    const [actual, wanted] = [client.rendered.display(), expected.display()];
    // `responses` can't resync after a wipe. Only its final text is promised.
    const isLossy = fault === "wipe" && dialect === "responses";
    const difference = isLossy
      ? findDifference(readOutput(actual), readOutput(wanted))
      : findDifference(actual, wanted);
    problems.push(...client.rendered.problems, ...(difference === null ? [] : [difference]));
    this.#run.figures.report(
      "clients that differ from the log",
      problems.map((problem) => `${about}, ${client.name}: ${problem}`),
    );
  }
}

/** Waits for an event after which `isReached` returns true. */
async function reach(
  follower: TurnFollower,
  isReached: (type: SessionEvent["type"]) => boolean,
): Promise<void> {
  const act = ({ event }: LogEntry) => isReached(event.type);
  if (!(await atMoment([follower], { act, timeoutMs: MOMENT_MS })))
    throw new Error(`${follower.ref.session} did not get as far as the fault`);
}

function readOutput(display: unknown): unknown {
  return (display as { output: unknown }).output;
}

/** The frames that end a stopped turn, in each dialect. */
const ENDS = new Set(["message_stop", "turn.end", "response.output_text.completed"]);

function isEnd({ type, stop_reason }: Frame): boolean {
  return ENDS.has(type) || (type === "task.done" && stop_reason !== undefined);
}

async function postStop({ url, headers }: Endpoint, { session }: SessionRef): Promise<Frame> {
  const response = await fetch(`${url}/api/v1/sessions/${session}/stop`, { method: "POST", headers });
  return (await response.json()) as Frame;
}

export const gateways: Scenario = {
  promise: 10,
  about: "kills gateways, restarts and wipes Redis, disconnects all clients and stops turns",
  times: 105,
  short: 7,
  run,
};
