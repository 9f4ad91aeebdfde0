/**
 * `LeaseLock` holds an advisory lock on a connection of its own while the process lives. The database releases it as soon
 * as the process dies, long before its lease expires.
 *
 * Invariant: another process takes a missing lock for a death only if its own lock has existed, on the same server, since
 * before the other's last renewal. So a restart or a failover of the database, which ends all locks, ends no process. A
 * lost connection is never used again.
 */
import { type RawBuilder, sql } from "kysely";
import { withTimeout } from "../../util/with-timeout.ts";
import type { Db } from "./database.ts";

/** A connection that doesn't answer for this long counts as lost. */
const TIMEOUT_MS = 2_000;

interface OwnLock {
  readonly executor: string;
  readonly connection: Db;
  /** The database's time at which the lock was taken. */
  readonly since: number;
  readonly release: () => void;
}

export class LeaseLock {
  readonly #db: Db;
  readonly #isEnabled: boolean;
  #lock: OwnLock | null = null;

  constructor(db: Db, isEnabled: boolean) {
    this.#db = db;
    this.#isEnabled = isEnabled;
  }

  isOwnedBy(executor: string): boolean {
    return this.#lock?.executor === executor;
  }

  /** Takes the lock, unless this process has it. A process that lost its lease starts again under another name. */
  async hold(executor: string): Promise<boolean> {
    if (!this.#isEnabled) return false;
    if (this.isOwnedBy(executor)) return true;
    this.release();
    return new Promise<boolean>((resolve, reject) => {
      // The connection leaves the pool until `release`.
      const used = this.#db.connection().execute(async (connection) => {
        const { rows } = await sql<{ isLocked: boolean; since: number }>`
          select pg_try_advisory_lock(${lockKey(sql`${executor}`)}) as "isLocked", clock_timestamp() as since`.execute(
          connection,
        );
        const [row] = rows;
        if (row?.isLocked !== true || this.#lock !== null) {
          resolve(this.isOwnedBy(executor));
          return;
        }
        await new Promise<void>((release) => {
          this.#lock = { executor, connection, since: row.since, release };
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
    const lock = this.#lock;
    if (lock === null) return null;
    try {
      return await withTimeout(work(lock.connection, lock.since), { ms: TIMEOUT_MS, onTimeout });
    } catch {
      this.release();
      return null;
    }
  }

  release(): void {
    this.#lock?.release();
    this.#lock = null;
  }
}

function onTimeout(): never {
  throw new Error("the lock's connection does not answer");
}

/** The key of an executor's lock. Schemas of one database have different keys. */
export function lockKey(executor: RawBuilder<unknown>) {
  return sql<number>`hashtextextended(current_schema() || ' lease ' || ${executor}::text, 0)`;
}
