/**
 * `openTurnsEnvironment` starts the private servers of the turns bench. This process is the gateway that sends and
 * reads. worker-process.ts starts the worker. Does not run turns.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionEvent } from "@turnstream/protocol";
import { createSession, type SessionRef, sendMessage } from "@turnstream/server";
import { type Actor, systemEnv } from "@turnstream/server/internal";
import { type StartedBackend, startBackend } from "@turnstream/testkit/backend/open-backend.ts";
import type { PostgresOptions } from "@turnstream/testkit/servers/start-postgres.ts";

/** The prefix of all keys in Redis. */
export const KEY_PREFIX = "bench";
/** The name of the gateway's connections to PostgreSQL. */
export const GATEWAY_NAME = "bench-gateway";
/** turns-counters.ts counts the transactions of this database. */
export const DATABASE = "bench";

export interface TurnsEnvironment {
  readonly backend: StartedBackend;
  readonly actor: Actor;
}

export async function openTurnsEnvironment(postgres: PostgresOptions = {}): Promise<TurnsEnvironment> {
  const backend = await startBackend({
    name: GATEWAY_NAME,
    keyPrefix: KEY_PREFIX,
    databaseName: DATABASE,
    postgres,
    // With a sync at every append the bench would measure the disk.
    redis: { config: { appendfsync: "everysec" } },
  });
  const actor = { tenant: "bench", user: "user-1" };
  await backend.store.tenants.create({ id: actor.tenant, name: "Bench" });
  return { backend, actor };
}

export async function openSessions(
  { backend, actor }: TurnsEnvironment,
  count: number,
): Promise<SessionRef[]> {
  const refs: SessionRef[] = [];
  for (let n = 0; n < count; n++) {
    const { id } = await createSession(backend, actor, {}, systemEnv);
    refs.push({ tenant: actor.tenant, session: id });
  }
  return refs;
}

export async function send(
  { backend, actor }: TurnsEnvironment,
  ref: SessionRef,
  agent: string,
): Promise<void> {
  await sendMessage(backend, ref, {
    id: randomUUID(),
    text: "Continue.",
    userId: actor.user,
    options: { agent },
  });
}

export type OnEvent = (event: SessionEvent, session: string) => void;

/** Reads sessions from their current position. @returns a function that stops it */
export async function watchSessions(
  { backend }: TurnsEnvironment,
  refs: readonly SessionRef[],
  onEvent: OnEvent,
): Promise<() => Promise<void>> {
  const stopped = new AbortController();
  const { signal } = stopped;
  const readers = await Promise.all(
    refs.map(async (ref) => {
      const after = (await backend.log.head(ref))?.last ?? "0-0";
      return { ended: read(ref, after) };
    }),
  );

  async function read(ref: SessionRef, after: string): Promise<void> {
    for await (const delivery of backend.log.attach(ref, { after, signal })) {
      if (delivery.type === "end") throw new Error(`a reader ended: ${delivery.reason}`);
      for (const entry of delivery.entries) onEvent(entry.event, ref.session);
    }
  }

  return async () => {
    stopped.abort();
    await Promise.all(readers.map(({ ended }) => ended));
  };
}

/** Sends a message to all sessions, spread over `overMs`, and waits until all turns have ended. */
export async function runTurns(
  environment: TurnsEnvironment,
  refs: readonly SessionRef[],
  agent: string,
  overMs = 0,
): Promise<void> {
  let left = refs.length;
  const ended = createGate();
  const stop = await watchSessions(environment, refs, ({ type }) => {
    if (type === "turn.end" && --left === 0) ended.open();
  });
  for (const ref of refs) {
    await send(environment, ref, agent);
    if (overMs > 0) await sleep(overMs / refs.length);
  }
  await ended.opened;
  await stop();
}

/** A promise, and the function that resolves it. */
export function createGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  const waiting: (() => void)[] = [];
  const opened = new Promise<void>((resolve) => waiting.push(resolve));
  return { opened, open: () => waiting[0]?.() };
}
