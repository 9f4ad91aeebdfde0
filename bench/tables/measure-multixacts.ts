/**
 * `measureMultixacts` counts the multixacts of frequent operations. PostgreSQL makes one when concurrent transactions
 * lock one row, such as the tenant's row for a foreign key. Their members grow with the square of the concurrency.
 */
import type { SessionRef } from "@turnstream/server";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { figure, type Measurement } from "../measure.ts";
import type { TablesSize } from "./tables.ts";
import {
  addMessage,
  createSession,
  createTenants,
  endTurn,
  runAll,
  startTurns,
  type TablesEnvironment,
} from "./turn-ends.ts";

const HOUR_MS = 3_600_000;

export async function measureMultixacts(
  { store, url }: TablesEnvironment,
  { operations }: TablesSize,
): Promise<Measurement[]> {
  const tenants = await createTenants(store, "multixacts", 1);
  const [tenant = ""] = tenants;
  await store.webhooks.create(tenant, { url: "https://receiver.example/" });
  const refs = Array.from({ length: operations }, (_, n): SessionRef => ({ tenant, session: `m-${n}` }));
  const running = await startTurns(store, tenants, operations);
  const actor = { tenant, user: "user-1" };
  const expiresAt = Date.now() + HOUR_MS;
  const steps: Readonly<Record<string, () => Promise<void>>> = {
    "sessions.create": () => runAll(refs, (ref) => createSession(store, ref)),
    "queuedMessages.add": () => runAll(refs, (ref) => addMessage(store, ref)),
    "tickets.redeem": () => runAll(refs, ({ session }) => store.tickets.redeem(tenant, session, expiresAt)),
    "idempotency.begin": () =>
      runAll(refs, ({ session }) =>
        store.idempotency.begin(actor, { route: "POST /x", key: session, digest: "d" }),
      ),
    "the end of a turn": () => runAll(running, (turn) => endTurn(store, turn)),
  };
  const measurements: Measurement[] = [];
  for (const [name, run] of Object.entries(steps)) {
    const before = await countMultixacts(url);
    await run();
    const made = (await countMultixacts(url)) - before;
    measurements.push(figure(`multixacts per operation: ${name}`, made / operations, "", 0));
  }
  return measurements;
}

async function countMultixacts(url: string): Promise<number> {
  const [row] = await runSql(
    url,
    "checkpoint",
    "select next_multixact_id::text as next from pg_control_checkpoint()",
  );
  return Number(row?.["next"]);
}
