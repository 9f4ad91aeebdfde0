/** Measures how long PostgreSQL needs to fetch jobs from a long queue. */
import { expect, onTestFinished, test } from "vitest";

import { newSession } from "./harness.ts";
import { postgresHarness } from "./postgres-harness.ts";

test("fetching stays quick with 10,000 queued jobs of one tenant, and a new tenant comes first", async () => {
  const { store, db } = await postgresHarness();
  onTestFinished(() => store.close());
  const { ref } = await newSession(store);
  await store.queuedMessages.add(ref, { id: "m", text: "t" });
  // Copies of one queued job, because 10,000 calls take too long here.
  await db.connection().execute(async (connection) => {
    for (const statement of [
      `insert into sessions (id, tenant_id, user_id, number, epoch) select 's' || n, '${ref.tenant}', 'u', n + 10, 1
        from generate_series(1, 10000) n`,
      `insert into waiting_messages (tenant_id, session_id, id, body, owner, job, rank)
        select '${ref.tenant}', 's' || n, 'm', '{"text":"t"}', 'u', gen_random_uuid(), n from generate_series(1, 10000) n`,
      `insert into turnstream_jobs.job (id, name, data, priority, singleton_key, group_id, policy, keep_until)
        select w.job, j.name, jsonb_build_object('tenant', w.tenant_id, 'session', w.session_id, 'user', 'u', 'deaths', 0,
          'rank', w.rank), -w.rank, w.session_id, w.tenant_id, j.policy, j.keep_until
        from waiting_messages w cross join (select * from turnstream_jobs.job limit 1) j where w.session_id like 's%'
          and w.rank > 0`,
      "analyze",
    ])
      await connection.executeQuery({ sql: statement, parameters: [], query: { kind: "RawNode" } } as never);
  });
  const fresh = await newSession(store);
  await store.queuedMessages.add(fresh.ref, { id: "m", text: "t" });
  const fetch = (limit: number) => store.jobs.fetch({ executor: "w", agents: [null], limit, alone: false });
  expect((await fetch(2)).map(({ session }) => session)).toContain(fresh.ref.session);
  const times: number[] = [];
  for (let n = 0; n < 50; n++) {
    const start = performance.now();
    expect(await fetch(5)).toHaveLength(5);
    times.push(performance.now() - start);
  }
  // A few milliseconds.
  expect(times.toSorted((a, b) => a - b)[25]).toBeLessThan(50);
});
