/**
 * `measureFanOut` measures the server's CPU time per delivery, from Redis to the sockets of all subscribers: the
 * gateway against baseline servers on the same subscription. Events come in bursts, each event as its own append. The
 * next burst starts when all subscribers have the last one. All servers stay open and alternate.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EventDraft } from "@turnstream/protocol/writer";
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";
import {
  toDraft,
  type GatewayBenchEnvironment,
  openWriters,
  type SessionWriter,
} from "./gateway-environment.ts";
import { MeasuredServer } from "./measured-server.ts";
import { type ClientKind, toClientOptions } from "./gateway-clients.ts";
import { median } from "@turnstream/testkit/util/median.ts";
import { type Measurement, round } from "./measure.ts";
import { MARK, RawClient } from "./raw-client.ts";

export interface FanOutSize {
  /** Connections to each server, independent of the number of subscribers per session. */
  readonly clients: number;
  readonly rounds: number;
  readonly burst: number;
  /** Minimum deliveries of one run, by subscribers per session. */
  readonly deliveries: Readonly<Record<number, number>>;
}

interface Kind extends ClientKind {
  readonly name: string;
  /** Characters of one delta, so that a frame has about 200 bytes. */
  readonly letters: number;
}

const LETTERS = 40;
const SOCKETS: readonly Kind[] = [
  { name: "ws.send", kind: "ws", wire: "socket", letters: LETTERS },
  { name: "corked frames", kind: "corked", wire: "socket", letters: LETTERS },
  { name: "gateway, blocks", kind: "gateway", wire: "socket", letters: LETTERS, dialect: "blocks" },
  { name: "gateway, native", kind: "gateway", wire: "socket", letters: LETTERS, dialect: "native" },
];
const STREAMS: readonly Kind[] = [
  { name: "res.write", kind: "sse", wire: "sse", letters: LETTERS },
  { name: "gateway SSE, blocks", kind: "gateway", wire: "sse", letters: LETTERS, dialect: "blocks" },
  { name: "gateway SSE, native", kind: "gateway", wire: "sse", letters: LETTERS, dialect: "native" },
];

const AT_MOST_TIMES_BARE = 1.3;
const SETTLE_MS = 500;
const TIMEOUT_MS = 60_000;

/** One server and its clients, with one number of subscribers per session. */
class ServerClients {
  readonly name: string;
  readonly #server: MeasuredServer;
  readonly #writers: readonly SessionWriter[];
  readonly #draft: EventDraft;
  readonly #perSession: number;
  #clients: readonly RawClient[] = [];
  #missing = 0;
  #onAllArrived: (() => void) | null = null;

  private constructor(
    kind: Kind,
    server: MeasuredServer,
    writers: readonly SessionWriter[],
    perSession: number,
  ) {
    this.name = kind.name;
    this.#server = server;
    this.#writers = writers;
    this.#draft = { ...DELTA, text: "x".repeat(kind.letters) + MARK } as EventDraft;
    this.#perSession = perSession;
  }

  static async open(
    environment: GatewayBenchEnvironment,
    kind: Kind,
    server: MeasuredServer,
    perSession: number,
    clients: number,
  ): Promise<ServerClients> {
    const slug = kind.name.replaceAll(/\W+/g, "_");
    const writers = await openWriters(environment, `${slug}-${perSession}`, clients / perSession, OPENED);
    const hall = new ServerClients(kind, server, writers, perSession);
    const clientOptions = Array.from({ length: clients }, (_, n) =>
      toClientOptions(kind, {
        port: server.port,
        headers: environment.headers,
        session: writers[n % writers.length]?.session ?? "",
      }),
    );
    hall.#clients = clientOptions.map((options) => new RawClient(options, (more) => hall.#arrived(more)));
    await Promise.all(hall.#clients.map(({ ready }) => ready));
    return hall;
  }

  /** @returns microseconds of the server's CPU time per delivery, and bytes */
  async run(burst: number, deliveries: number) {
    const bytes = this.#bytes();
    const before = await this.#server.measure();
    let delivered = 0;
    while (delivered < deliveries) {
      this.#missing = burst * this.#perSession;
      delivered += this.#missing;
      const arrived = new Promise<void>((resolve) => {
        this.#onAllArrived = resolve;
      });
      const written: Promise<void>[] = [];
      for (let n = 0; n < burst; n++) {
        const writer = this.#writers[n % this.#writers.length];
        if (writer !== undefined) written.push(writer.write([this.#draft]));
      }
      await Promise.all(written);
      await withinTime(arrived, this.name);
    }
    const after = await this.#server.measure();
    return {
      micros: (after.cpuMicros - before.cpuMicros) / delivered,
      bytes: (this.#bytes() - bytes) / delivered,
    };
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }

  #bytes(): number {
    return this.#clients.reduce((sum, client) => sum + client.bytes, 0);
  }

  #arrived(more: number): void {
    this.#missing -= more;
    if (this.#missing === 0) this.#onAllArrived?.();
    else if (this.#missing < 0) throw new Error(`${this.name}: received more deliveries than were sent`);
  }
}

/** The first events of a turn up to its text, as drafts and without the session's own first event. */
const writer = new LogWriter().session().begin("Go on.");
const place = writer.place();
writer.add({ type: "text.start", ...place, part: false });
const OPENED = writer.events.slice(1).map(toDraft);
const DELTA = { type: "text.delta", ...place };

export async function measureFanOut(
  environment: GatewayBenchEnvironment,
  size: FanOutSize,
): Promise<Measurement[]> {
  return [
    ...(await compare(environment, size, SOCKETS, ["ws.send", "corked frames"])),
    ...(await compare(environment, size, STREAMS, ["res.write"])),
  ];
}

async function compare(
  environment: GatewayBenchEnvironment,
  size: FanOutSize,
  kinds: readonly Kind[],
  bare: readonly string[],
): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const [perSession, deliveries] of Object.entries(size.deliveries)) {
    const viewers = Number(perSession);
    const servers = await Promise.all(kinds.map(async ({ kind }) => MeasuredServer.start(environment, kind)));
    const halls: ServerClients[] = [];
    for (const [n, kind] of kinds.entries()) {
      const server = servers[n];
      if (server !== undefined)
        halls.push(await ServerClients.open(environment, kind, server, viewers, size.clients));
    }
    await sleep(SETTLE_MS);
    const runs = new Map(halls.map((hall) => [hall.name, [] as { micros: number; bytes: number }[]]));
    // The first round is a warm-up and doesn't count.
    for (let n = 0; n <= size.rounds; n++) {
      for (const hall of n % 2 === 0 ? halls : halls.toReversed()) {
        const run = await hall.run(size.burst, deliveries);
        if (n > 0) runs.get(hall.name)?.push(run);
      }
    }
    for (const hall of halls) hall.close();
    await Promise.all(servers.map(async (server) => server.stop()));
    const cost = (name: string) => median(runs.get(name)?.map(({ micros }) => micros) ?? []);
    const best = Math.min(...bare.map(cost));
    for (const { name } of kinds) {
      const isBare = bare.includes(name);
      const bytes = Math.round(median(runs.get(name)?.map((run) => run.bytes) ?? []));
      const measure = `${name}: CPU per delivery, ${viewers} subscribers per session`;
      measurements.push({ measure, value: round(cost(name)), note: `us; ${bytes} bytes` });
      if (isBare) continue;
      const times = round(cost(name) / best);
      measurements.push({
        measure: `${measure}, times the baseline`,
        value: times,
        atMost: AT_MOST_TIMES_BARE,
      });
      if (bare.includes("ws.send")) {
        const saved = round(cost("ws.send") / cost(name));
        measurements.push({ measure: `${measure}, ws.send as a multiple of it`, value: saved });
      }
    }
  }
  return measurements;
}

/** Fails after a timeout: a delivery that never comes must not block the bench. */
async function withinTime(arrived: Promise<void>, name: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${name}: not all clients got every delivery`)), TIMEOUT_MS);
  });
  await Promise.race([arrived, late]).finally(() => clearTimeout(timer));
}
