/**
 * `runSql` runs statements on a PostgreSQL server over its own connection, to administer it and to inspect its rows.
 *
 * Invariant: it never repeats a statement and retains no connection, so that it can't affect what a test observes.
 */
import { Client } from "pg";

/** Runs each statement in its own transaction. @returns the rows of the last one */
export async function runSql(url: string, ...statements: string[]): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) rows = (await client.query<Record<string, unknown>>(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}
