/** Makes databases on a PostgreSQL server that runs: each test gets one, since a server each would be slow. Never drops one. */
import { Client } from "pg";

/** Answers with the URL of the new database. */
export async function createDatabase(serverUrl: string, name: string): Promise<string> {
  const url = new URL(serverUrl);
  url.pathname = name;
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(`create database ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
  return url.href;
}
