/**
 * A private `redis-server` on a free port and in a temporary folder, which can be killed, frozen and started
 * again. Never uses a server that it has not started.
 */
import { findRedis } from "./find-binary.ts";
import { freePort, HOST } from "../network/free-port.ts";
import { redisCommand, type RedisReply } from "./redis-command.ts";
import { type ServerProcess, startServer } from "./server-process.ts";
import { makeFolder } from "../processes/watch.ts";

export interface RedisOptions {
  /** Keeps over kill -9 whatever was answered. Default: true. */
  appendOnly?: boolean;
  /** Further settings as in redis.conf, such as `{ maxmemory: "64mb" }`. They win over ours. */
  config?: Readonly<Record<string, string>>;
  /** Default: a free one. */
  port?: number;
}

export interface RedisServer extends ServerProcess {
  readonly port: number;
  readonly url: string;
  /** One command over a connection of its own; so WAIT has nothing to wait for. */
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
    // With everysec Redis answers before it writes while a sync is under way, and a crash then loses what it has answered.
    appendfsync: "always",
    "client-output-buffer-limit": "pubsub 64mb 16mb 30",
    ...config,
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
}

/** Asks for its id too: another server could have taken the port just before ours. */
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
  const folder = await makeFolder("redis");
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
