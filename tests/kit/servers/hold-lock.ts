/**
 * `holdLock` holds a lock of PostgreSQL over its own connection, so that a test can stop a process right before it
 * changes the locked rows, and kill it there.
 *
 * Invariant: it changes nothing. The lock ends with `release`, or with the connection.
 */
import { Client } from "pg";

/** A connection that waits for the lock. */
interface Waiter {
  /** The name of its process, as its connections have it. */
  readonly name: string;
  readonly query: string;
}

export interface PostgresLock {
  waiters(): Promise<Waiter[]>;
  release(): Promise<void>;
}

/** @param statement such as `select … for update` or `lock table …` */
export async function holdLock(url: string, statement: string): Promise<PostgresLock> {
  const [holder, observer] = [new Client({ connectionString: url }), new Client({ connectionString: url })];
  await Promise.all([holder.connect(), observer.connect()]);
  await holder.query("begin");
  await holder.query(statement);
  const { rows } = await holder.query<{ pid: number }>("select pg_backend_pid() as pid");
  const pid = rows[0]?.pid ?? 0;
  return {
    async waiters() {
      const found = await observer.query<{ name: string; query: string }>(
        "select application_name as name, query from pg_stat_activity where $1 = any(pg_blocking_pids(pid))",
        [pid],
      );
      return found.rows;
    },
    async release() {
      await holder.query("rollback");
      await Promise.all([holder.end(), observer.end()]);
    },
  };
}
