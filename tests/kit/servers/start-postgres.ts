/**
 * `startPostgres` starts a private PostgreSQL server on a free port and in a temporary folder. It can be killed, frozen
 * and restarted, and is reached over TCP without passwords. Does not use a server that it has not started.
 */
import { createDatabase } from "./create-database.ts";
import { findPostgres } from "./find-binary.ts";
import { freePort, HOST } from "../network/free-port.ts";
import { cleanUpAfterKill, findOwner, initialize, isReady, SUPERUSER } from "./postgres-folder.ts";
import { type ServerProcess, startServer } from "./server-process.ts";
import { keepFolder, makeFolder } from "../processes/watch.ts";

export interface PostgresOptions {
  /** Further settings as in postgresql.conf, such as `{ max_connections: "20" }`. They override ours. */
  config?: Readonly<Record<string, string>>;
  /** @default a free port */
  port?: number;
  /** Keeps the data in this folder, for the next start. @default a temporary folder that is removed */
  folder?: string;
}

export interface PostgresServer extends ServerProcess {
  readonly port: number;
  /** The URL of the database `postgres`. */
  readonly url: string;
  /** @returns the URL of the new database */
  createDatabase(name: string): Promise<string>;
}

function flags(port: number, data: string, config: PostgresOptions["config"]): string[] {
  const settings = {
    listen_addresses: HOST,
    port: String(port),
    unix_socket_directories: "",
    max_connections: "200",
    // Statements of tests find the tables without their schema.
    search_path: "turnstream,public",
    // Committed data must survive kill -9.
    fsync: "on",
    // The other types use memory outside of the folder, which would stay behind after kill -9.
    dynamic_shared_memory_type: "mmap",
    ...config,
  };
  return ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const { initdb, postgres } = findPostgres();
  const owner = await findOwner();
  const folder =
    options.folder === undefined ? await makeFolder("postgres") : await keepFolder(options.folder);
  cleanUpAfterKill(folder);
  const data = await initialize(folder, initdb, owner);
  const port = options.port ?? (await freePort());
  const server = await startServer({
    name: "postgres",
    file: postgres,
    args: flags(port, data, options.config),
    folder,
    owner,
    stopSignal: "SIGINT",
    isReady: (pid) => isReady(folder, pid),
    afterKill: () => cleanUpAfterKill(folder),
  });
  const url = `postgres://${SUPERUSER}@${HOST}:${port}/postgres`;
  return Object.assign(server, {
    port,
    url,
    createDatabase: async (name: string) => await createDatabase(url, name),
  });
}
