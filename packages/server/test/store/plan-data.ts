/**
 * Fills a database with many rows in seconds, for tests of query plans. The rows have realistic shapes, not contents.
 */
import { sql } from "kysely";

import type { Db } from "../../src/store/database/database.ts";

/** The ids that the queries use: one user and one session with a tenth of all rows. */
export const BIG = { tenant: "t1", user: "u1", session: "s1" };

/**
 * Adds the missing rows up to `events` archived events and a tenth as many sessions, turns and outbox rows, then
 * updates the planner's statistics.
 */
export async function fill(db: Db, from: number, events: number): Promise<void> {
  await db.connection().execute(async (connection) => {
    // Foreign keys and other triggers are disabled during the fill, because checking them would take most of the time.
    await sql`set session_replication_role = replica`.execute(connection);
    for (const statement of statements(from, events)) await sql.raw(statement).execute(connection);
    await sql`set session_replication_role = default`.execute(connection);
    await sql`vacuum analyze`.execute(connection);
  });
}

/**
 * The session of the nth row: every tenth row belongs to the large session, and the others have `each` rows per
 * session.
 */
function session(each: number): string {
  return `case when n % 10 = 0 then 's1' else 's' || (n / ${each} + 2) end`;
}

function statements(from: number, to: number): string[] {
  const tenth = `generate_series(${from / 10 + 1}, ${to / 10}) n`;
  const all = `generate_series(${from + 1}, ${to}) n`;
  const padding = `repeat('x', 60)`;
  return [
    `insert into tenants (id, name) values ('t1', 'T') on conflict do nothing`,
    `insert into sessions (id, tenant_id, user_id, number, turn_count, created_at, updated_at, title)
     select 's' || n, 't1', case when n % 10 = 1 then 'u1' else 'u' || (n % 1000 + 2) end, n, 20,
       now() - n * interval '1 minute', now() - n * interval '1 minute', ${padding} from ${tenth}`,
    `insert into archived_events (tenant_id, session_id, period, last_seq, events)
     select 't1', ${session(100)}, (select current_archive_period()), n,
       to_json(array_fill(json_build_object('id', '1-' || n), array[5])) from ${all}`,
    `insert into turns (tenant_id, session_id, period, id, start_seq, end_seq, status, open, v, message)
     select 't1', ${session(20)}, (select current_archive_period()), 'turn' || n, n, n, 'end_turn', n in (100, 500), 1,
       json_build_object('id', n, 'text', ${padding}) from ${tenth}`,
    `insert into outbox (tenant_id, session_id, key, draft, since_epoch, since_seq, created_at, next_attempt_at, delivered_at)
     select 't1', 's' || (n % ${to / 10} + 1), 'k' || n, '{}', 1, 1, now() - interval '1 hour', now() - interval '1 hour',
       case when n % 50 = 0 then null else now() - n * interval '1 minute' end from ${tenth}`,
    `insert into waiting_messages (tenant_id, session_id, id, owner, body)
     select 't1', ${session(20)}, 'm' || n, 'u1', case when n in (100, 500) then '{}'::json end from ${tenth}`,
    // Every tenth session has a queued message, of 20 agents. Every hundredth runs a turn, half
    // of them in a dead process, and a fifth of those turns has returned to the queue.
    // As many wait for their users. A session's epoch is its number.
    `insert into agents (name, label, description, inputs)
     select 'agent' || n, '', '', '{text}' from generate_series(0, 19) n on conflict do nothing`,
    `insert into turn_queue (tenant_id, session_id, owner, epoch, turn, agent, rank, queued_at, executor)
     select 't1', 's' || n, case when n % 10 = 1 then 'u1' else 'u' || (n % 1000 + 2) end, n,
       case when n % 50 = 0 then 't' end, case when n % 10 = 2 then 'agent' || (n / 10 % 20) end,
       case when n % 10 = 2 or n % 100 = 0 then n end, now() - n * interval '1 second',
       case when n % 500 = 300 then null when n % 200 = 0 then 'dead' when n % 100 = 0 then 'e' || n end from ${tenth}`,
    `insert into running_turns (tenant_id, session_id, turn, message_id, message, message_by, owner, message_at, begun_at,
       attempts, parked_at, wake_at)
     select 't1', 's' || n, 't', 'm', '{}', 'u' || (n % 1000 + 2), 'u' || (n % 1000 + 2), now(), now() - n * interval '1 second', 1,
       case when n % 100 = 50 then now() end, case when n % 200 = 50 then now() - n * interval '1 second' end
     from ${tenth} where n % 50 = 0`,
    `insert into waiting_messages (tenant_id, session_id, id, owner, body, added_at)
     select 't1', 's' || n, 'w' || n, 'u' || (n % 1000 + 2), '{}', now() - n * interval '1 second' from ${tenth}
     where n % 10 = 2 or n % 1000 = 0`,
    `update turn_queue q set next_message = w.n from waiting_messages w
     where w.tenant_id = q.tenant_id and w.session_id = q.session_id and w.id = 'w' || substr(w.session_id, 2)
       and q.turn is null and q.rank is not null`,
    `insert into turn_journal (tenant_id, session_id, period, turn, key, value, kept)
     select 't1', ${session(100)}, (select current_archive_period()), 'turn' || (n / 1000), 'k' || n, '{}', n % 10 = 0 and n % 100 = 0 from ${all}`,
    // Every tenth session has asked its user once, and every hundredth waits for the user.
    `insert into interactions (session_id, id, tenant_id, kind, key, turn_id, run_id, block_id, item_index, request, status)
     select 's' || n, 'i' || n, 't1', 'approval', 'a' || n, 't', 'main', 'b1', 1, '{}',
       case when n % 100 = 0 then 'pending' else 'approved' end from ${tenth} where n % 10 = 0`,
    // Every twentieth share expired, and as many were revoked.
    `insert into shares (id, key, tenant_id, session_id, up_to_epoch, up_to_seq, owner, expires_at, revoked_at)
     select 'share' || n, 'key', 't1', 's' || n, 1, n, case when n % 10 = 1 then 'u1' else 'u' || (n % 1000 + 2) end,
       case when n % 20 = 2 then now() - n * interval '1 minute' end,
       case when n % 20 = 4 then now() - n * interval '1 minute' end from ${tenth}`,
    `insert into erasures (tenant_id, session_id, requested_at)
     select 't1', 'erased' || lpad(n::text, 24, '0'), now() - n * interval '1 minute' from ${tenth}`,
    `insert into blobs (tenant_id, session_id, id, media_type, size, body)
     select 't1', ${session(20)}, 'b' || n, 't', 3, 'abc' from ${tenth}`,
    `insert into leases (executor, until) select 'e' || n, now() + interval '1 hour' from ${tenth} where n % 100 = 0`,
    `insert into leases (executor, until) values ('new', now() + interval '1 hour') on conflict do nothing`,
    `insert into leases (executor, until) values ('dead', now() - interval '1 minute') on conflict do nothing`,
  ];
}
