/**
 * `checked` checks the settings of connections that come through a pooler in transaction mode.
 *
 * Invariant: such a pooler passes no settings on, and gives each transaction any of its connections to the server. So
 * the settings must belong to the role or to the pooler's configuration. A connection without them is refused, because
 * a transaction without timeouts can lock a session for ever.
 */
import type { PostgresPool, PostgresPoolClient } from "kysely";
import { StoreError } from "../errors.ts";

/** By name, with times in milliseconds. */
export type Settings = Readonly<Record<string, string>>;

export function checked(pool: PostgresPool, settings: Settings): PostgresPool {
  const known = new WeakSet<PostgresPoolClient>();
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      try {
        if (!known.has(client)) await check(client, settings);
      } catch (error) {
        client.release();
        throw error;
      }
      known.add(client);
      return client;
    },
  };
}

async function check(client: PostgresPoolClient, settings: Settings): Promise<void> {
  const { rows } = await client.query<{ name: string; setting: string; role: string }>(
    "select name, setting, current_user as role from pg_settings where name = any($1)",
    [Object.keys(settings)],
  );
  const wrong = rows.filter(({ name, setting }) => firstOf(setting) !== settings[name]);
  const [first] = wrong;
  if (first === undefined) return;
  const missing = wrong.map(
    ({ name }) => `alter role ${quoted(first.role)} set ${name} = '${settings[name] ?? ""}';`,
  );
  throw new StoreError(
    "INVALID",
    `connection through a pooler. Run this, then restart it: ${missing.join(" ")}`,
  );
}

/** The schema comes first in the search path. */
function firstOf(setting: string): string {
  return (setting.split(",")[0] ?? "").trim().replaceAll('"', "");
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
