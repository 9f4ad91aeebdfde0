/**
 * `startRedis` starts a private `redis-server` on a free port and in a temporary folder. It can be killed, frozen and
 * restarted. Does not use a server that it has not started.
 */
import { findRedis } from "./find-binary.ts";
import { freePort, HOST } from "../network/free-port.ts";
import { redisCommand, type RedisReply } from "./redis-command.ts";
import { type ServerProcess, startServer } from "./server-process.ts";
import { keepFolder, makeFolder } from "../processes/watch.ts";

export interface RedisOptions {
  /** Whether acknowledged writes survive kill -9. @default true */
  appendOnly?: boolean;
  /** Further settings as in redis.conf, such as `{ maxmemory: "64mb" }`. They override ours. */
  config?: Readonly<Record<string, string>>;
  /** @default a free port */
  port?: number;
  /** Keeps the data in this folder, for the next start. @default a temporary folder that is removed */
  folder?: string;
}

export interface RedisServer extends ServerProcess {
  readonly port: number;
  readonly url: string;
  /** Sends one command over its own connection, so WAIT has nothing to wait for. */
  command(...args: (string | number)[]): Promise<RedisReply>;
}

function flags(port: number, folder: string, { appendOnly = true, config }: RedisOptions): string[] {
  const settings = {
    port: String(port),
    bind: HOST,
    dir: folder,
    daemonize: "no",
    save: "",
    appendonly: appendOnly ? "yes" : "no",
    // With everysec Redis answers before it writes while a sync is in progress, and a crash then loses acknowledged
    // writes.
    appendfsync: "always",
    "client-output-buffer-limit": "pubsub 64mb 16mb 30",
    ...config,
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
}

/** Also compares the process id: another server could have taken the port just before ours. */
async function hasLoaded(port: number, pid: number): Promise<boolean> {
  try {
    const info = String(await redisCommand(port, ["INFO"], 1000));
    return info.includes(`process_id:${pid}\r\n`) && info.includes("\r\nloading:0\r\n");
  } catch {
    return false;
  }
}

export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const file = findRedis();
  const folder = options.folder === undefined ? await makeFolder("redis") : await keepFolder(options.folder);
  const port = options.port ?? (await freePort());
  const server = await startServer({
    name: "redis-server",
    file,
    args: flags(port, folder, options),
    folder,
    stopSignal: "SIGTERM",
    isReady: async (pid) => await hasLoaded(port, pid),
  });
  return Object.assign(server, {
    port,
    url: `redis://${HOST}:${port}`,
    command: async (...args: (string | number)[]) => await redisCommand(port, args),
  });
}
