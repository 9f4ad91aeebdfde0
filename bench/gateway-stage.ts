/**
 * What the bench of the gateway plays on: private servers, sessions with turns that run, and the pen that writes into them.
 * No worker: what a turn says is written here, as fast as a bench wants it.
 */
import { createHmac } from "node:crypto";
import type { SessionEvent, EventDraft } from "@turnstream/protocol";
import {
  claimSession,
  type Claimed,
  createRedisLog,
  type Log,
  migrate,
  openDatabase,
  createPostgresStore,
  type Store,
} from "@turnstream/server";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";

const TENANT = "bench";
const USER = "somebody";
/** How many sessions are made at a time. */
const AT_A_TIME = 20;
const BATCH = 500;
const SECRET = "only for the bench, and only on this machine";
const TOKEN_SECONDS = 3_600;

export interface GatewayStage {
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly prefix: string;
  readonly secret: string;
  /** What lets a client in. */
  readonly headers: Readonly<Record<string, string>>;
  readonly store: Store;
  readonly log: Log;
  close(): Promise<void>;
}

/** Where the servers are, for a test that has them already. */
export interface Servers {
  readonly redisUrl: string;
  readonly databaseUrl: string;
  stop(): Promise<void>;
}

export async function startServers(): Promise<Servers> {
  // Syncing at every append would measure the disk.
  const redis = await startRedis({ config: { appendfsync: "everysec" } });
  const postgres = await startPostgres();
  return {
    redisUrl: redis.url,
    databaseUrl: await postgres.createDatabase("bench"),
    async stop() {
      await postgres.stop();
      await redis.stop();
    },
  };
}

export async function openGatewayStage(servers: Servers, prefix: string): Promise<GatewayStage> {
  const { redisUrl, databaseUrl } = servers;
  const db = openDatabase({ url: databaseUrl, name: "bench" });
  await migrate(db);
  const store = createPostgresStore(db);
  const log = await createRedisLog({ url: redisUrl, keyPrefix: prefix });
  await store.tenants.create({ id: TENANT, name: "Bench" });
  return {
    redisUrl,
    databaseUrl,
    prefix,
    secret: SECRET,
    headers: { authorization: `Bearer ${tokenOf(SECRET)}` },
    store,
    log,
    async close() {
      await log.close();
      await store.close();
      await servers.stop();
    },
  };
}

/** As a team signs it for its own people. */
function tokenOf(secret: string): string {
  const claims = { sub: USER, tenant: TENANT, exp: Math.floor(Date.now() / 1_000) + TOKEN_SECONDS };
  const parts = [{ alg: "HS256", typ: "JWT" }, claims];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

/** Writes one session. */
export class Pen {
  readonly session: string;
  readonly #log: Log;
  readonly #claimed: Claimed;
  #counter = 0;

  constructor(log: Log, session: string, claimed: Claimed) {
    this.session = session;
    this.#log = log;
    this.#claimed = claimed;
  }

  get epoch(): number {
    return this.#claimed.epoch;
  }

  /** One append, one message of Redis. */
  async write(events: readonly EventDraft[]): Promise<void> {
    const { writer, epoch } = this.#claimed;
    await this.#log.append(this.session, { writer, epoch, counter: ++this.#counter, events });
  }

  async writeAll(events: readonly EventDraft[]): Promise<void> {
    for (let at = 0; at < events.length; at += BATCH) await this.write(events.slice(at, at + BATCH));
  }
}

/** Sessions of that name, numbered, each with its first event and what comes right after it. */
export async function openPens(
  { store, log }: GatewayStage,
  name: string,
  count: number,
  events: readonly EventDraft[],
): Promise<Pen[]> {
  const pens: Pen[] = [];
  for (let from = 0; from < count; from += AT_A_TIME) {
    const numbers = Array.from({ length: Math.min(AT_A_TIME, count - from) }, (_, n) => from + n);
    pens.push(...(await Promise.all(numbers.map(async (n) => openPen(`${name}-${n}`)))));
  }
  return pens;

  async function openPen(session: string): Promise<Pen> {
    const { number } = await store.sessions.create({ tenant: TENANT, user: USER }, { id: session });
    const event = { type: "session.start", session, number } as const;
    const ref = { tenant: TENANT, session };
    const claimed = await claimSession({ store, log }, ref, { by: "bench", reason: "bench", event });
    const pen = new Pen(log, session, claimed);
    await pen.writeAll(events);
    return pen;
  }
}

/** An event as it was before the log has taken it. */
export function draftOf({ v: _v, id: _id, at: _at, ...draft }: SessionEvent): EventDraft {
  return draft;
}
