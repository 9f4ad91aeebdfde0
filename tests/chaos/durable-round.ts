/**
 * `DurableEnvironment` starts PostgreSQL and Redis behind proxies. `DurableRound` runs everything that works on
 * committed events: clients, two relays, and an archiver that trims the log. Does not cause or check anything.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backend, SessionRef } from "@turnstream/server";
import { archiveSession, claimIdleSession, claimSession, relayOutbox } from "@turnstream/server/internal";
import { trimLog } from "@turnstream/testkit/backend/trim-log.ts";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import type { Random } from "@turnstream/testkit/util/seeded-random.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { commitAndPublish, tolerateOutages } from "./durable-load.ts";
import type { DurableWrite } from "./durable-writes.ts";
import { ACTOR, TurnEnvironment } from "./turn-environment.ts";

/** Names the writer of each claim. */
export const CLAIMER = "chaos";
/** Relays leave rows that are younger than this to their writers. */
const YOUNG_MS = 20;
const PAUSE_MS = 5;

export class DurableEnvironment {
  readonly turns: TurnEnvironment;
  readonly postgres: TcpProxy;
  readonly redis: TcpProxy;
  /** Each has its own connections, and records what its log does. */
  readonly backends: Backend[] = [];
  readonly #urls: { readonly databaseUrl: string; readonly redisUrl: string };

  private constructor(turns: TurnEnvironment, postgres: TcpProxy, redis: TcpProxy, redisUrl: string) {
    this.turns = turns;
    this.postgres = postgres;
    this.redis = redis;
    const databaseUrl = new URL(turns.backend.databaseUrl);
    databaseUrl.port = String(postgres.port);
    this.#urls = { databaseUrl: databaseUrl.href, redisUrl };
  }

  /** Runs `use`, then stops everything, also after an error. */
  static async use<T>(use: (environment: DurableEnvironment) => Promise<T>): Promise<T> {
    return TurnEnvironment.use(async (turns) => {
      const { proxy, redisUrl } = await turns.startRedisProxy(0);
      const { port } = turns.backend.postgres;
      const postgres = await startProxy({ to: { host: "127.0.0.1", port } });
      const environment = new DurableEnvironment(turns, postgres, proxy, redisUrl);
      const open = (name: string) => openBackend({ ...environment.settings(name), database: { max: 12 } });
      const opened = [await open("left"), await open("right")];
      environment.backends.push(...opened);
      try {
        return await use(environment);
      } finally {
        await Promise.all(opened.map((backend) => backend.close()));
        await postgres.close();
      }
    });
  }

  /** What a process needs to open a backend behind the proxies. Its log is recorded. */
  settings(name: string) {
    return { ...this.turns.settings(name), ...this.#urls };
  }
}

export class DurableRound {
  readonly environment: DurableEnvironment;
  readonly refs: readonly SessionRef[];
  readonly acknowledged: DurableWrite[] = [];
  readonly failed: { readonly write: DurableWrite; readonly startedAt: number }[] = [];
  /** Rows that relays have delivered. */
  relayed = 0;
  /** Steps of the archiver. */
  archived = 0;
  trims = 0;
  readonly #work: Promise<void>[] = [];
  #clients: Promise<void>[] = [];
  #isCommitting = false;
  #isOver = false;
  #error: unknown = null;

  private constructor(environment: DurableEnvironment, refs: readonly SessionRef[]) {
    this.environment = environment;
    this.refs = refs;
  }

  /**
   * Starts the archiver on new sessions, and waits in the end until everything is in the archive.
   * @param play starts clients and relays, and causes the fault
   */
  static async play(
    environment: DurableEnvironment,
    sessions: number,
    play: (round: DurableRound) => Promise<void>,
  ): Promise<DurableRound> {
    const [backend] = environment.backends as [Backend];
    const refs = await Promise.all(Array.from({ length: sessions }, () => createSession(backend)));
    const round = new DurableRound(environment, refs);
    void round.#start(round.#archive(backend));
    try {
      await play(round);
      await round.stopClients();
      const isDelivered = async () => (await round.countRows("delivered_at is null")) === 0;
      await round.until("everything to be delivered", isDelivered);
    } finally {
      await round.stopClients();
      round.#isOver = true;
      await Promise.all(round.#work);
    }
    if (round.#error !== null) throw round.#error;
    for (const ref of refs) await archiveSession(backend, ref);
    return round;
  }

  /**
   * Starts clients in each session.
   * @param name distinguishes them from earlier clients of these sessions
   */
  startClients(name: string, count: number, random: Random): void {
    this.#isCommitting = true;
    const [backend] = this.environment.backends as [Backend];
    for (const ref of this.refs)
      for (let n = 0; n < count; n++) {
        const client = {
          name: `${name}${n}`,
          random,
          isOver: () => !this.#isCommitting,
          onCommit: (write: DurableWrite) => void this.acknowledged.push(write),
          onFailure: (write: DurableWrite, startedAt: number) => void this.failed.push({ write, startedAt }),
        };
        this.#clients.push(this.#start(commitAndPublish(backend, ref, client)));
      }
  }

  /** Lets each client finish its current write. */
  async stopClients(): Promise<void> {
    this.#isCommitting = false;
    await Promise.all(this.#clients);
  }

  /** Starts relays that race to publish the rows that clients leave. */
  startRelays(): void {
    for (const backend of this.environment.backends) void this.#start(this.#relay(backend));
  }

  /** Claims all logs, as workers do. */
  async claim(): Promise<void> {
    const [backend] = this.environment.backends as [Backend];
    for (const ref of this.refs) await claimIdleSession(backend, ref, CLAIMER);
  }

  /** Waits, and throws if a client, relay or archiver fails. */
  async until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
    await until(what, () => {
      if (this.#error !== null) throw this.#error;
      return isTrue();
    });
  }

  /** Counts the outbox rows of the round, by a condition in SQL. */
  async countRows(condition: string): Promise<number> {
    const sessions = this.refs.map(({ session }) => `'${session}'`).join();
    const count = `select count(*) from outbox where session_id in (${sessions}) and ${condition}`;
    return Number((await runSql(this.environment.turns.backend.databaseUrl, count))[0]?.["count"]);
  }

  #start(work: Promise<void>): Promise<void> {
    const caught = work.catch((error: unknown) => void (this.#error ??= error));
    this.#work.push(caught);
    return caught;
  }

  async #relay(backend: Backend): Promise<void> {
    while (!this.#isOver) {
      const options = { olderThanMs: YOUNG_MS, leaseMs: 300 };
      this.relayed += (await tolerateOutages(() => relayOutbox(backend, options)))?.delivered ?? 0;
      await sleep(PAUSE_MS);
    }
  }

  async #archive(backend: Backend): Promise<void> {
    while (!this.#isOver)
      for (const ref of this.refs) {
        await tolerateOutages(async () => {
          await archiveSession(backend, ref, { step: 10 });
          this.archived++;
          if (await trimLog(backend, ref)) this.trims++;
        });
        await sleep(PAUSE_MS);
      }
  }
}

async function createSession(backend: Backend): Promise<SessionRef> {
  const ref = { tenant: ACTOR.tenant, session: `s-${randomUUID()}` };
  await backend.store.sessions.create(ACTOR, { id: ref.session });
  const event = { type: "session.start", session: ref.session, number: 1 } as const;
  await claimSession(backend, ref, { by: CLAIMER, event });
  return ref;
}
