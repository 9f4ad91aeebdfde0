/**
 * `LeaseLock` holds an advisory lock on a connection of its own while the process lives. The database releases it as soon
 * as the process dies, long before its lease expires.
 *
 * Invariant: another process takes a missing lock for a death only if its own lock has existed, on the same server, since
 * before the other's last renewal. So a restart or a failover of the database, which ends all locks, kills nobody. A
 * lost connection is never used again.
 */
import { type RawBuilder, sql } from "kysely";
import type { Db } from "./database.ts";

/** A connection that doesn't answer for this long counts as lost. */
const TIMEOUT_MS = 2_000;

interface Held {
  readonly executor: string;
  readonly connection: Db;
  /** The database's time at which the lock was taken. */
  readonly since: number;
  readonly release: () => void;
}

export class LeaseLock {
  readonly #db: Db;
  #held: Held | null = null;

  constructor(db: Db) {
    this.#db = db;
  }

  isHeldBy(executor: string): boolean {
    return this.#held?.executor === executor;
  }

  /** Takes the lock, unless it is held. */
  async hold(executor: string): Promise<boolean> {
    if (this.#held !== null) return this.isHeldBy(executor);
    return new Promise<boolean>((resolve, reject) => {
      // The connection leaves the pool until `release`.
      const used = this.#db.connection().execute(async (connection) => {
        const { rows } = await sql<{ isHeld: boolean; since: number }>`
          select pg_try_advisory_lock(${lockKey(sql`${executor}`)}) as "isHeld", clock_timestamp() as since`.execute(
          connection,
        );
        const [row] = rows;
        if (row?.isHeld !== true || this.#held !== null) {
          resolve(this.isHeldBy(executor));
          return;
        }
        await new Promise<void>((release) => {
          this.#held = { executor, connection, since: row.since, release };
          resolve(true);
        });
        // Other users of the pool must not get the lock. It fails if the connection is lost, and then it has none.
        await sql`select pg_advisory_unlock_all()`.execute(connection).catch(() => undefined);
      });
      used.catch(reject);
    });
  }

  /** Runs work on the connection of the lock. Returns null if this process has no lock, or has lost it. */
  async run<T>(work: (connection: Db, since: number) => Promise<T>): Promise<T | null> {
    const held = this.#held;
    if (held === null) return null;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("the lock's connection does not answer")), TIMEOUT_MS);
    });
    try {
      return await Promise.race([work(held.connection, held.since), timeout]);
    } catch {
      this.release();
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  release(): void {
    this.#held?.release();
    this.#held = null;
  }
}

/** The key of an executor's lock. Schemas of one database have different keys. */
export function lockKey(executor: RawBuilder<unknown>) {
  return sql<number>`hashtextextended(current_schema() || ' lease ' || ${executor}::text, 0)`;
}
