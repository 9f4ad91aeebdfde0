/**
 * What the bench of turns plays on: private servers, this process as the gateway that sends and reads, and a worker in a
 * process of its own. Never runs a turn here.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import type { SessionEvent } from "@turnstream/protocol";
import {
  type Actor,
  type CommandBackend,
  createRedisLog,
  createRedisSignals,
  createSession,
  migrate,
  migrateEngine,
  openDatabase,
  createPostgresStore,
  type SessionRef,
  sendMessage,
  systemEnv,
} from "@turnstream/server";
import { type PostgresServer, startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import type { Order, Weight, WorkerSettings, Word } from "./processes/turn-worker.ts";

const PREFIX = "bench";

export interface Stage {
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  readonly databaseUrl: string;
  readonly parts: CommandBackend;
  readonly actor: Actor;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  // Syncing at every append would measure the disk.
  const redis = await startRedis({ config: { appendfsync: "everysec" } });
  const postgres = await startPostgres();
  const databaseUrl = await postgres.createDatabase("bench");
  const db = openDatabase({ url: databaseUrl, name: "bench-gateway" });
  await migrate(db);
  await migrateEngine(databaseUrl);
  const store = createPostgresStore(db);
  const log = await createRedisLog({ url: redis.url, keyPrefix: PREFIX });
  const signals = createRedisSignals({ url: redis.url, keyPrefix: PREFIX });
  const actor = { tenant: "bench", user: "somebody" };
  await store.tenants.create({ id: actor.tenant, name: "Bench" });
  return {
    postgres,
    redis,
    databaseUrl,
    parts: { store, log, signals },
    actor,
    async close() {
      await signals.close();
      await log.close();
      await store.close();
      await postgres.stop();
      await redis.stop();
    },
  };
}

export async function openSessions({ parts, actor }: Stage, count: number): Promise<SessionRef[]> {
  const refs: SessionRef[] = [];
  for (let n = 0; n < count; n++) {
    const { id } = await createSession(parts, actor, {}, systemEnv);
    refs.push({ tenant: actor.tenant, session: id });
  }
  return refs;
}

export async function send({ parts, actor }: Stage, ref: SessionRef, agent: string): Promise<void> {
  await sendMessage(parts, ref, { id: randomUUID(), text: "Go on.", userId: actor.user, options: { agent } });
}

export type OnEvent = (event: SessionEvent, session: string) => void;

/** Reads sessions from where they are now. @returns how to stop */
export async function watch(
  { parts }: Stage,
  refs: readonly SessionRef[],
  onEvent: OnEvent,
): Promise<() => Promise<void>> {
  const stopped = new AbortController();
  const { signal } = stopped;
  const readers = await Promise.all(
    refs.map(async ({ session }) => {
      const after = (await parts.log.head(session))?.last ?? "0-0";
      return { ended: read(session, after) };
    }),
  );

  async function read(session: string, after: string): Promise<void> {
    for await (const delivery of parts.log.attach(session, { after, signal })) {
      if (delivery.type === "end") throw new Error(`a reader ended: ${delivery.reason}`);
      for (const entry of delivery.entries) onEvent(entry.event, session);
    }
  }

  return async () => {
    stopped.abort();
    await Promise.all(readers.map(({ ended }) => ended));
  };
}

/** Sends to all of them, spread over a while, and waits until all turns have ended. */
export async function playAll(
  stage: Stage,
  refs: readonly SessionRef[],
  agent: string,
  overMs = 0,
): Promise<void> {
  let left = refs.length;
  const ended = gate();
  const stop = await watch(stage, refs, ({ type }) => {
    if (type === "turn.end" && --left === 0) ended.open();
  });
  for (const ref of refs) {
    await send(stage, ref, agent);
    if (overMs > 0) await settle(overMs / refs.length);
  }
  await ended.opened;
  await stop();
}

/** Something that happens once, and whoever waits for it. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  const waiting: (() => void)[] = [];
  const opened = new Promise<void>((resolve) => waiting.push(resolve));
  return { opened, open: () => waiting[0]?.() };
}

export const settle = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A worker process; all its failures are ours. */
export class WorkerProcess {
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  #isLeaving = false;

  private constructor(settings: WorkerSettings) {
    const file = join(import.meta.dirname, "processes", "turn-worker.ts");
    const flags = ["--conditions=@turnstream/source", "--expose-gc"];
    this.#process = spawn(process.execPath, [...flags, file, JSON.stringify(settings)], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#ended = once(this.#process, "exit");
    this.#process.on("exit", (code) => {
      // Nobody would hear of it who waits for a turn to end.
      if (!this.#isLeaving) throw new Error(`the worker has ended by itself (${String(code)})`);
    });
  }

  static async start(
    { databaseUrl, redis }: Stage,
    settings: Partial<Pick<WorkerSettings, "counts" | "ttlMs">> = {},
  ): Promise<WorkerProcess> {
    const urls = { databaseUrl, redisUrl: redis.url, prefix: PREFIX };
    const worker = new WorkerProcess({ ...urls, counts: false, ...settings });
    await worker.#word();
    return worker;
  }

  /** "clean" collects garbage before. */
  async weigh(how: "now" | "clean" = "now"): Promise<Weight> {
    const said = this.#word();
    this.#process.send({ weigh: how } satisfies Order);
    const word = await said;
    if (!("weight" in word)) throw new Error("the worker said something else");
    return word.weight;
  }

  /** @returns how often something failed in it that was then tried again; turns end all the same. */
  async leave(): Promise<number> {
    const { failures } = await this.weigh();
    this.#isLeaving = true;
    this.#process.send({ leave: true } satisfies Order);
    await this.#ended;
    if (failures.length > 0) console.error(`in the worker: ${[...new Set(failures.map(kindOf))].join("; ")}`);
    return failures.length;
  }

  async #word(): Promise<Word> {
    const [word] = (await once(this.#process, "message")) as [Word];
    return word;
  }
}

/** Without the session that it is about. */
function kindOf(failure: string): string {
  return failure.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "…");
}
