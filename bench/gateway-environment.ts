/**
 * The environment of the bench of the gateway: private servers, sessions with running turns, and the writers of these
 * sessions. No worker: events are written here, as fast as a bench needs them.
 */
import { createHmac } from "node:crypto";
import type { SessionEvent } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { claimSession, type Claimed } from "@turnstream/server/internal";
import type { Log, Store } from "@turnstream/server/ports";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";

const TENANT = "bench";
const USER = "somebody";
/** How many sessions are made at a time. */
const CONCURRENCY = 20;
const BATCH = 500;
const SECRET = "only for the bench, and only on this machine";
const TOKEN_SECONDS = 3_600;

export interface GatewayBenchEnvironment {
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly keyPrefix: string;
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

export async function openGatewayEnvironment(
  servers: Servers,
  keyPrefix: string,
): Promise<GatewayBenchEnvironment> {
  const { redisUrl, databaseUrl } = servers;
  const backend = await openBackend({ redisUrl, databaseUrl, keyPrefix, name: "bench", shouldMigrate: true });
  const { store, log } = backend;
  await store.tenants.create({ id: TENANT, name: "Bench" });
  return {
    redisUrl,
    databaseUrl,
    keyPrefix,
    secret: SECRET,
    headers: { authorization: `Bearer ${signToken(SECRET)}` },
    store,
    log,
    async close() {
      await backend.close();
      await servers.stop();
    },
  };
}

/** As a team signs it for its own users. */
function signToken(secret: string): string {
  const claims = { sub: USER, tenant: TENANT, exp: Math.floor(Date.now() / 1_000) + TOKEN_SECONDS };
  const sections = [{ alg: "HS256", typ: "JWT" }, claims];
  const text = sections
    .map((section) => Buffer.from(JSON.stringify(section)).toString("base64url"))
    .join(".");
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

/** Writes one session. */
export class SessionWriter {
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
export async function openWriters(
  { store, log }: GatewayBenchEnvironment,
  name: string,
  count: number,
  events: readonly EventDraft[],
): Promise<SessionWriter[]> {
  const writers: SessionWriter[] = [];
  for (let from = 0; from < count; from += CONCURRENCY) {
    const numbers = Array.from({ length: Math.min(CONCURRENCY, count - from) }, (_, n) => from + n);
    writers.push(...(await Promise.all(numbers.map(async (n) => openWriter(`${name}-${n}`)))));
  }
  return writers;

  async function openWriter(session: string): Promise<SessionWriter> {
    const { number } = await store.sessions.create({ tenant: TENANT, user: USER }, { id: session });
    const event = { type: "session.start", session, number } as const;
    const ref = { tenant: TENANT, session };
    const claimed = await claimSession({ store, log }, ref, { by: "bench", reason: "bench", event });
    const sessionWriter = new SessionWriter(log, session, claimed);
    await sessionWriter.writeAll(events);
    return sessionWriter;
  }
}

/** An event as it was before the log has taken it. */
export function toDraft({ v: _v, id: _id, at: _at, ...draft }: SessionEvent): EventDraft {
  return draft;
}
