/**
 * `createDatabase` creates databases on a running PostgreSQL server. Each test gets one, because a server for each
 * would be slow. `createFromTemplate` copies a database that was prepared once. Does not drop databases.
 */
import { Client } from "pg";

/** @returns the URL of the new database */
export async function createDatabase(serverUrl: string, name: string): Promise<string> {
  await withClient(serverUrl, async (client) => await create(client, name));
  return urlOf(serverUrl, name);
}

/** The key of the advisory lock under which a template is prepared. */
const LOCK = 7_817_233_604;

/**
 * Creates a database as a copy of a template. The first caller prepares the template while the others wait.
 * @param prepare must close its connections before it ends: PostgreSQL copies a database only while it has none
 */
export async function createFromTemplate(
  serverUrl: string,
  name: string,
  template: { readonly name: string; readonly prepare: (url: string) => Promise<void> },
): Promise<string> {
  await withClient(serverUrl, async (client) => {
    await client.query("select pg_advisory_lock($1)", [LOCK]);
    const found = await client.query("select from pg_database where datname = $1", [template.name]);
    if (found.rowCount === 0) {
      // Prepare it under another name, so that a template whose preparation failed is not used.
      const half = `${template.name}_${name}`;
      await create(client, half);
      await template.prepare(urlOf(serverUrl, half));
      await client.query(
        `alter database ${client.escapeIdentifier(half)} rename to ${client.escapeIdentifier(template.name)}`,
      );
    }
    await client.query("select pg_advisory_unlock($1)", [LOCK]);
    await create(client, name, template.name);
  });
  return urlOf(serverUrl, name);
}

async function create(client: Client, name: string, template?: string): Promise<void> {
  const from = template === undefined ? "" : ` template ${client.escapeIdentifier(template)}`;
  await client.query(`create database ${client.escapeIdentifier(name)}${from}`);
}

function urlOf(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = name;
  return url.href;
}

async function withClient(url: string, use: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await use(client);
  } finally {
    await client.end();
  }
}
