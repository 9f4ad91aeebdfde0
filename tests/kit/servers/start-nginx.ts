/**
 * `startNginx` starts a private `nginx` on a free port and in a temporary folder. Its configuration comes from a test
 * or from a page of the docs. Does not read the system's configuration.
 */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";

import { findNginx } from "./find-binary.ts";
import { freePort, HOST } from "../network/free-port.ts";
import { type ServerProcess, startServer } from "./server-process.ts";
import { makeFolder } from "../processes/watch.ts";

export interface NginxOptions {
  /** The content of `http { }` for the given port. */
  http: (port: number) => string;
  /** The configuration outside of `http { }`, such as `worker_shutdown_timeout 1s;`. */
  main?: string;
}

export interface NginxServer extends ServerProcess {
  readonly port: number;
  readonly url: string;
  /** Runs `nginx -s reload`, which starts new workers for new connections. Resolves when nginx has the command. */
  reload(): Promise<void>;
}

const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

function config(folder: string, port: number, { http, main = "" }: NginxOptions): string {
  const temporary = TEMPORARY.map((name) => `${name}_temp_path ${join(folder, name)};`).join("\n");
  // Otherwise its workers would run as an unprivileged user that can't read the folder.
  const user = process.getuid?.() === 0 ? "user root;" : "";
  return `${user}
daemon off;
worker_processes 2;
pid ${join(folder, "nginx.pid")};
error_log stderr;
${main}
events { worker_connections 1024; }
http {
access_log off;
${temporary}
${http(port)}
}
`;
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

export async function startNginx(options: NginxOptions): Promise<NginxServer> {
  const file = findNginx();
  const folder = await makeFolder("nginx");
  const port = await freePort();
  const own = join(folder, "nginx.conf");
  writeFileSync(own, config(folder, port, options));
  const args = ["-p", folder, "-c", own];
  const server = await startServer({
    name: "nginx",
    file,
    args,
    folder,
    stopSignal: "SIGTERM",
    isReady: async () => await accepts(port),
  });
  return Object.assign(server, {
    port,
    url: `http://${HOST}:${port}`,
    async reload() {
      await promisify(execFile)(file, [...args, "-s", "reload"]);
    },
  });
}
