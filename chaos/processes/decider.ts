/**
 * A program of its own that decides on approvals and stops turns, as a gateway would: with connections of its own, and all
 * at once. Tells which of its decisions won. Never runs a turn and never follows one.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  createRedisLog,
  createRedisSignals,
  decideApproval,
  isStoreError,
  type ApprovalDecision,
  openDatabase,
  createPostgresStore,
  type SessionRef,
  stopTurn,
} from "@turnstream/server";

export interface DecideOrder {
  readonly id: number;
  readonly ref: SessionRef;
  /** Each at its own time, by the clock of the machine; 0 for now. */
  readonly wishes: readonly { readonly at: number; readonly decision: ApprovalDecision }[];
  /** When to stop the turn, too; null for not at all. */
  readonly stopAt: number | null;
}

export type DecideWord =
  | { readonly ready: true }
  | { readonly id: number; readonly won: readonly ApprovalDecision[]; readonly failures: readonly string[] };

const TRIES = 20;
const [postgresUrl = "", redisUrl = "", name = ""] = process.argv.slice(2);
const store = createPostgresStore(openDatabase({ url: postgresUrl, max: 10, name }));
const log = await createRedisLog({ url: redisUrl });
const signals = createRedisSignals({ url: redisUrl });
await store.leases.expired(1);

function tell(word: DecideWord): void {
  if (process.connected) process.send?.(word);
}

async function decideAll({ id, ref, wishes, stopAt }: DecideOrder): Promise<void> {
  const parts = { store, log, signals };
  const stopped = stopAt === null ? null : at(stopAt).then(() => stopTurn(parts, ref, { userId: name }));
  const settled = await Promise.allSettled(
    wishes.map(async ({ at: when, decision }) => {
      await at(when);
      return (await patiently(() => decideApproval(parts, ref, decision))).applied ? [decision] : [];
    }),
  );
  await stopped;
  const won = settled.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
  const failures = settled.flatMap((each) => (each.status === "rejected" ? [String(each.reason)] : []));
  tell({ id, won, failures });
}

/** Sixty at once have to wait for a connection, on a busy machine longer than it allows. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === TRIES || !isStoreError(error, "UNAVAILABLE")) throw error;
    }
  }
}

async function at(time: number): Promise<void> {
  const ms = time - Date.now();
  if (ms > 0) await sleep(ms);
}

process.on("message", (order: DecideOrder) => void decideAll(order));
process.on("disconnect", () => process.exit());
tell({ ready: true });
