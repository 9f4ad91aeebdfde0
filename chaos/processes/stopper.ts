/**
 * A program of its own that stops turns, as a gateway would: with connections of its own to PostgreSQL and Redis, and
 * many calls at once. Tells the receipts, and when it began. Never runs a turn and never follows one.
 */
import {
  createRedisSignals,
  openDatabase,
  createPostgresStore,
  type SessionRef,
  type StopReceipt,
  stopTurn,
} from "@turnstream/server";

export interface Order {
  readonly ref: SessionRef;
  readonly count: number;
}

export type Word =
  | { readonly ready: true }
  | {
      readonly session: string;
      /** By the clock of the machine. */
      readonly at: number;
      readonly receipts: readonly StopReceipt[];
      readonly failures: number;
    };

const [postgresUrl = "", redisUrl = "", by = ""] = process.argv.slice(2);
const store = createPostgresStore(openDatabase({ url: postgresUrl, max: 10, name: by }));
const signals = createRedisSignals({ url: redisUrl });
await store.leases.expired(1);

function tell(word: Word): void {
  process.send?.(word);
}

async function stopAll({ ref, count }: Order): Promise<void> {
  const at = Date.now();
  const calls = Array.from({ length: count }, () => stopTurn({ store, signals }, ref, { userId: by }));
  const settled = await Promise.allSettled(calls);
  const receipts = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value.receipt] : []));
  tell({ session: ref.session, at, receipts, failures: count - receipts.length });
}

process.on("message", (order: Order) => void stopAll(order));
process.on("disconnect", () => process.exit());
tell({ ready: true });
