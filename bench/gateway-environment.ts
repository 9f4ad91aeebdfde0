/**
 * `openGatewayEnvironment` starts the private servers of the gateway bench, and `openWriters` creates sessions with
 * running turns. There is no worker: `SessionWriter` writes events at the rate that a bench needs.
 */
import { createHmac, randomUUID } from "node:crypto";
import type { SessionEvent } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { SessionRef } from "@turnstream/server";
import { type Claimed, claimSession, type Log, type Store } from "@turnstream/server/internal";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { TENANT } from "./gateway-clients.ts";

const USER = "user-1";
/** How many sessions are created at the same time. */
const CONCURRENCY = 20;
const BATCH = 500;
const SECRET = "a secret that only the bench uses, on this machine";
const TOKEN_SECONDS = 3_600;

export interface GatewayBenchEnvironment {
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly keyPrefix: string;
  readonly secret: string;
  /** The headers that authenticate a client. */
  readonly headers: Readonly<Record<string, string>>;
  /** Returns such headers with a token of its own. */
  signIn(): Readonly<Record<string, string>>;
  readonly store: Store;
  readonly log: Log;
  close(): Promise<void>;
}

/** The servers, so that a test can pass the ones that it already has. */
export interface Servers {
  readonly redisUrl: string;
  readonly databaseUrl: string;
  stop(): Promise<void>;
}

export async function startServers(): Promise<Servers> {
  // With a sync at every append the bench would measure the disk.
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
    headers: signIn(),
    signIn,
    store,
    log,
    async close() {
      await backend.close();
      await servers.stop();
    },
  };
}

function signIn(): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${signToken(SECRET)}` };
}

/** Signs a token as an application does for its users. */
function signToken(secret: string): string {
  const exp = Math.floor(Date.now() / 1_000) + TOKEN_SECONDS;
  const claims = { sub: USER, tenant: TENANT, exp, jti: randomUUID() };
  const sections = [{ alg: "HS256", typ: "JWT" }, claims];
  const text = sections
    .map((section) => Buffer.from(JSON.stringify(section)).toString("base64url"))
    .join(".");
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

/** Writes the events of one session. */
export class SessionWriter {
  readonly ref: SessionRef;
  readonly #log: Log;
  readonly #claimed: Claimed;
  #counter = 0;

  constructor(log: Log, ref: SessionRef, claimed: Claimed) {
    this.ref = ref;
    this.#log = log;
    this.#claimed = claimed;
  }

  get session(): string {
    return this.ref.session;
  }

  get epoch(): number {
    return this.#claimed.epoch;
  }

  /** Appends events. One append is one message of Redis. */
  async write(events: readonly EventDraft[]): Promise<void> {
    const { writer, epoch } = this.#claimed;
    await this.#log.append(this.ref, { writer, epoch, counter: ++this.#counter, events });
  }

  async writeAll(events: readonly EventDraft[]): Promise<void> {
    for (let at = 0; at < events.length; at += BATCH) await this.write(events.slice(at, at + BATCH));
  }
}

/** Creates numbered sessions with this name, each with its first event and the given events. */
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
    const claimed = await claimSession({ store, log }, ref, { by: "bench", event });
    const sessionWriter = new SessionWriter(log, ref, claimed);
    await sessionWriter.writeAll(events);
    return sessionWriter;
  }
}

/** Returns an event without the fields that the log adds. */
export function toDraft({ v: _v, id: _id, at: _at, ...draft }: SessionEvent): EventDraft {
  return draft;
}
