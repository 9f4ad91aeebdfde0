/**
 * Runs statements on a PostgreSQL server over a connection of its own, to administer it and to look at what is
 * really there. Never repeats one and keeps no connection, so that it can't get in the way of what is tested.
 */
import { Client } from "pg";

/** Each in a transaction of its own. Answers with the rows of the last one. */
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
