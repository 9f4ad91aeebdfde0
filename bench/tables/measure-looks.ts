/**
 * `measureLooks` measures the queries with which workers and gateways look for work, while many messages are queued
 * behind turns that wait for their users.
 */
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { figure, type Measurement, percentile } from "../measure.ts";
import type { TablesSize } from "./tables.ts";
import type { TablesEnvironment } from "./turn-ends.ts";

const PER_SESSION = 10;
const LOOKS = 200;
const LIMIT = 100;
const LEASE_MS = 24 * 3_600_000;
const MAX_MS = 2;

export async function measureLooks(
  { store, url }: TablesEnvironment,
  { queuedMessages }: TablesSize,
): Promise<Measurement[]> {
  await store.tenants.create({ id: "queued", name: "queued" });
  await runSql(url, ...fill(queuedMessages));
  await store.leases.take("bench", LEASE_MS);
  const looks: Readonly<Record<string, () => Promise<unknown>>> = {
    "a query without tables": () => store.leases.clock(),
    "running.startable": () => store.running.startable({ olderThanMs: 0, limit: LIMIT }),
    "queue.start": () =>
      store.queue.start({ executor: "bench", agents: ["helper"], limit: 10, isIdle: false }),
    "queue.wakeDue": () => store.queue.wakeDue({ limit: LIMIT }),
    "running.stopping": () => store.running.stopping({ limit: LIMIT }),
  };
  const measurements: Measurement[] = [];
  for (const [name, look] of Object.entries(looks)) {
    const times: number[] = [];
    for (let n = 0; n < LOOKS; n++) {
      const since = performance.now();
      await look();
      times.push(performance.now() - since);
    }
    const label = `${name} with ${queuedMessages} queued messages`;
    measurements.push(
      figure(`${label}, p50`, percentile(times, 0.5), "ms", MAX_MS),
      figure(`${label}, p95`, percentile(times, 0.95), "ms"),
    );
  }
  return measurements;
}

/** Half of the turns run, and half wait for their users. */
function fill(messages: number): string[] {
  const sessions = `generate_series(1, ${messages / PER_SESSION}) n`;
  return [
    "set search_path = turnstream",
    `insert into sessions (tenant_id, id, user_id, number) select 'queued', 'q-' || n, 'u-' || n, n from ${sessions}`,
    `insert into turn_queue (tenant_id, session_id, owner, epoch, turn, executor, rank)
      select 'queued', 'q-' || n, 'u-' || n, 1, 't', case when n % 2 = 0 then 'e' end, case when n % 2 = 0 then 1 end
      from ${sessions}`,
    `insert into running_turns (tenant_id, session_id, turn, owner, attempts, parked_at)
      select 'queued', 'q-' || n, 't', 'u-' || n, 1, case when n % 2 = 1 then clock_timestamp() end from ${sessions}`,
    `insert into waiting_messages (tenant_id, session_id, id, body, owner, added_at)
      select 'queued', 'q-' || n, 'm-' || m, '{"text":"Continue."}', 'u-' || n, clock_timestamp() - interval '1 hour'
      from ${sessions}, generate_series(1, ${PER_SESSION}) m`,
    "analyze",
  ];
}
