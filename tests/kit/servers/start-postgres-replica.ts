/**
 * `startPostgresReplica` starts a replica that follows a running PostgreSQL server without delaying it, until `promote`
 * makes it a primary. The old primary doesn't notice.
 */
import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { makeFolder } from "../processes/watch.ts";
import { until } from "../util/until.ts";
import { findPostgres } from "./find-binary.ts";
import { runSql } from "./run-sql.ts";
import { type PostgresServer, startPostgres } from "./start-postgres.ts";

export interface PostgresReplica extends PostgresServer {
  promote(): Promise<void>;
}

const execute = promisify(execFile);

export async function startPostgresReplica(primary: PostgresServer): Promise<PostgresReplica> {
  const folder = await makeFolder("postgres");
  const data = join(folder, "data");
  const program = join(findPostgres().postgres, "..", "pg_basebackup");
  await execute(program, ["-d", primary.url, "-D", data, "-X", "stream", "-c", "fast", "-R"]);
  rmSync(join(data, "postmaster.pid"), { force: true });
  await execute("chown", ["-R", `--reference=${join(primary.folder, "data")}`, folder]);
  const replica = await startPostgres({ folder });
  const isFollowing = async () => {
    const [row] = await runSql(
      primary.url,
      "select count(*)::int as n from pg_stat_replication where state = 'streaming'",
    );
    return row?.["n"] === 1;
  };
  await until("the replica to follow the primary", isFollowing);
  return Object.assign(replica, {
    promote: async () => void (await runSql(replica.url, "select pg_promote()")),
  });
}
