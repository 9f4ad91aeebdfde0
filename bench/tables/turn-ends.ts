/**
 * `startTurns` and `endTurn` start and end turns in the store alone, without a worker. `endTurn` is the part of a turn's
 * last commit that is not about its own session: usage, webhooks, and the next turn.
 */
import type { SessionRef } from "@turnstream/server";
import type { ClosableStore, StartedTurn } from "@turnstream/server/internal";

export interface TablesEnvironment {
  readonly store: ClosableStore;
  readonly url: string;
}

/** How many operations run at a time. */
export const CONCURRENCY = 24;
const MODEL = "model";
const EXECUTOR = "bench";
const BATCH = 1_000;
const LEASE_MS = 24 * 3_600_000;
const USED = { turns: 1, calls: 3, input_tokens: 900, output_tokens: 100, total_tokens: 1_000, cost: 0.01 };

let sessions = 0;

export async function createTenants(store: ClosableStore, prefix: string, count: number): Promise<string[]> {
  const tenants = Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
  for (const id of tenants) await store.tenants.create({ id, name: id });
  return tenants;
}

/** Creates `count` sessions with a running turn each, in the tenants in turns. */
export async function startTurns(
  store: ClosableStore,
  tenants: readonly string[],
  count: number,
): Promise<StartedTurn[]> {
  const refs = Array.from({ length: count }, (_, n) => ({
    tenant: tenants[n % tenants.length] ?? "",
    session: `s-${++sessions}`,
  }));
  await runAll(refs, async (ref) => {
    await createSession(store, ref);
    await addMessage(store, ref);
  });
  await store.leases.take(EXECUTOR, LEASE_MS);
  const turns: StartedTurn[] = [];
  while (turns.length < count) {
    const started = await store.queue.start({ executor: EXECUTOR, agents: [], limit: BATCH, isIdle: false });
    if (started.length === 0) throw new Error(`${turns.length} turns were started instead of ${count}`);
    turns.push(...started);
  }
  return turns;
}

export async function createSession(store: ClosableStore, { tenant, session }: SessionRef): Promise<void> {
  await store.sessions.create({ tenant, user: `user-of-${session}` }, { id: session });
}

export async function addMessage(store: ClosableStore, ref: SessionRef): Promise<void> {
  await store.queuedMessages.add(ref, { id: "m", text: "Continue." });
}

export async function endTurn(store: ClosableStore, { held, row }: StartedTurn): Promise<void> {
  await store.transaction(async (tx) => {
    const { turn, user } = row;
    const key = `turn/${turn}`;
    await tx.usage.add(held.tenant, { ...USED, key, model: MODEL, user });
    await tx.webhooks.enqueue(held, { type: "turn.ended", key, data: { turn_id: turn } });
    await tx.journal.close(held, turn);
    await tx.queue.end(held, turn, { epoch: held.epoch });
  });
}

/** Runs an operation for each item, `CONCURRENCY` at a time. */
export async function runAll<T>(items: readonly T[], run: (item: T) => Promise<unknown>): Promise<void> {
  const rest = items.values();
  const runRest = async (): Promise<void> => {
    for (const item of rest) await run(item);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, runRest));
}
