/**
 * `DbosRows` reads and updates the rows of jobs in the tables of DBOS, where the API of DBOS is not enough. That API
 * recovers only through a queue that polls every second. It finds ids by a pattern in which `_` matches any character,
 * and prunes only through its console. `DbosRows` never creates or ends a row; DBOS does that.
 */
import type pg from "pg";

export interface Claimed {
  readonly id: string;
  readonly attempt: number;
}

/** Which jobs one executor takes over from another. */
export interface Due {
  readonly from: string;
  readonly to: string;
  /** Owners of earlier claims of `to` with an unknown outcome, because the replies were lost. */
  readonly lost: readonly string[];
}

/** The current time in the format of DBOS, from the clock of the database. */
const NOW_MS = "(extract(epoch from now()) * 1000)::bigint";

const DUE = `status = 'PENDING' and application_name = $1
  and (executor_id = $2 or (executor_id = $3 and owner_xid = any($4)))`;

export class DbosRows {
  readonly #pool: pg.Pool;
  readonly #table: string;
  readonly #application: string;

  constructor(pool: pg.Pool, schema: string, application: string) {
    this.#pool = pool;
    this.#table = `${quoted(schema)}.workflow_status`;
    this.#application = application;
  }

  /**
   * Assigns the running jobs of one executor to another in one statement. DBOS needs two statements and its queue for
   * that. `owner` fences the outcome: the previous executor can't record one any more. Skips locked rows, because a
   * process that froze while it recorded an outcome would block the recovery of all other jobs.
   */
  async claim(due: Due, owner: string): Promise<Claimed[]> {
    const { rows } = await this.#pool.query<{ id: string; attempt: string }>(
      `with free as (
        select workflow_uuid as id from ${this.#table} where ${DUE} for no key update skip locked)
      update ${this.#table} job
      set executor_id = $3, owner_xid = $5, recovery_attempts = recovery_attempts + 1,
        updated_at = ${NOW_MS}, started_at_epoch_ms = ${NOW_MS}
      from free where job.workflow_uuid = free.id
      returning free.id, job.recovery_attempts as attempt`,
      [this.#application, due.from, due.to, due.lost, owner],
    );
    return rows.map(({ id, attempt }) => ({ id, attempt: Number(attempt) }));
  }

  /** Assigns running jobs of an executor to an id that no executor uses, so that they must be recovered. */
  async give(ids: readonly string[], from: string, to: string): Promise<void> {
    await this.#pool.query(
      `update ${this.#table} set executor_id = $4, updated_at = ${NOW_MS}
      where status = 'PENDING' and application_name = $1 and executor_id = $2 and workflow_uuid = any($3)`,
      [this.#application, from, ids, to],
    );
  }

  async hasDue(due: Due): Promise<boolean> {
    const { rowCount } = await this.#pool.query(`select from ${this.#table} where ${DUE} limit 1`, [
      this.#application,
      due.from,
      due.to,
      due.lost,
    ]);
    return rowCount === 1;
  }

  async executors(): Promise<string[]> {
    const { rows } = await this.#pool.query<{ executor: string }>(
      `select distinct executor_id as executor from ${this.#table} where status = 'PENDING' and application_name = $1`,
      [this.#application],
    );
    return rows.map(({ executor }) => executor);
  }

  async isRunning(id: string): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `select from ${this.#table} where workflow_uuid = $1 and status = 'PENDING'`,
      [id],
    );
    return rowCount === 1;
  }

  async beginningWith(prefix: string, limit: number): Promise<string[]> {
    return await this.#ids(`workflow_uuid like $2 limit $3`, [`${literal(prefix)}%`, limit]);
  }

  async endedBefore(olderThanMs: number, limit: number): Promise<string[]> {
    return await this.#ids(`completed_at <= ${NOW_MS} - $2::bigint order by completed_at limit $3`, [
      olderThanMs,
      limit,
    ]);
  }

  async #ids(where: string, values: readonly unknown[]): Promise<string[]> {
    const { rows } = await this.#pool.query<{ id: string }>(
      `select workflow_uuid as id from ${this.#table} where application_name = $1 and ${where}`,
      [this.#application, ...values],
    );
    return rows.map(({ id }) => id);
  }
}

/** Without this index, finding the jobs of a session reads the whole table, unless the database sorts by bytes. */
export function prefixIndex(schema: string): string {
  return `create index if not exists turnstream_job_prefix
    on ${quoted(schema)}.workflow_status (workflow_uuid text_pattern_ops)`;
}

function literal(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
