/**
 * `startPgBouncer` starts a private `pgbouncer` in transaction mode before a PostgreSQL server, on a free port and in a
 * temporary folder. Does not read the system's configuration.
 */
import { chmodSync, chownSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";

import { findPgBouncer } from "./find-binary.ts";
import { freePort, HOST } from "../network/free-port.ts";
import { makeFolder } from "../processes/watch.ts";
import { findOwner } from "./postgres-folder.ts";
import { type ServerProcess, startServer } from "./server-process.ts";
import { ServiceError } from "./service-error.ts";

export interface PgBouncerOptions {
  /** The URL of the database behind it. */
  readonly databaseUrl: string;
  /** How many connections it has to the server. Few let clients share them. @default 3 */
  readonly poolSize?: number;
}

export interface PgBouncerServer extends ServerProcess {
  /** The URL of the database through the pooler. */
  readonly url: string;
}

export async function startPgBouncer({
  databaseUrl,
  poolSize = 3,
}: PgBouncerOptions): Promise<PgBouncerServer> {
  const file = findPgBouncer();
  const folder = await makeFolder("pgbouncer");
  const port = await freePort();
  const { hostname, port: behind, pathname, username } = new URL(databaseUrl);
  const name = decodeURIComponent(pathname.slice(1));
  if (!/^\w+$/.test(name))
    throw new ServiceError("start_failed", `the database ${name} must have a simple name`);
  const config = join(folder, "pgbouncer.ini");
  writeFileSync(
    config,
    `[databases]
${name} = host=${hostname} port=${behind} dbname=${name}
[pgbouncer]
listen_addr = ${HOST}
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, "users")}
pool_mode = transaction
max_client_conn = 500
default_pool_size = ${poolSize}
`,
  );
  writeFileSync(join(folder, "users"), `"${username}" ""\n`);
  // It doesn't run as root.
  const owner = await findOwner();
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  chmodSync(folder, 0o755);
  const server = await startServer({
    name: "pgbouncer",
    file,
    args: [config],
    folder,
    owner,
    stopSignal: "SIGINT",
    isReady: () => accepts(port),
  });
  return Object.assign(server, { url: `postgres://${username}@${HOST}:${port}/${name}?pgbouncer=true` });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: HOST, port });
    const end = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
