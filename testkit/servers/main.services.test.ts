/** Tests `npm run services`, and that no server survives its owner, however the owner ends. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

import { Client } from "pg";
import { expect, test, vi } from "vitest";

import { until } from "../util/until.ts";
import { listDescendants, isAlive } from "../processes/process-tree.ts";
import { redisCommand } from "./redis-command.ts";

const fileOf = (name: string) => join(import.meta.dirname, name);

async function nodeProcess(args: string[], isLast: (line: string) => boolean) {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(child, "exit");
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (isLast(line)) break;
  }
  return { child, lines, ended };
}

interface Started {
  pids: number[];
  folders: string[];
}

/** Starts a process with a Redis and a PostgreSQL that does not stop them, and then runs the code in `then`. */
async function careless(then: string) {
  const script = `
    const { startRedis } = await import(${JSON.stringify(pathToFileURL(fileOf("start-redis.ts")).href)});
    const { startPostgres } = await import(${JSON.stringify(pathToFileURL(fileOf("start-postgres.ts")).href)});
    const { listDescendants } = await import(${JSON.stringify(pathToFileURL(fileOf("../processes/process-tree.ts")).href)});
    const servers = [await startRedis(), await startPostgres()];
    const pids = servers.flatMap(({ pid }) => [pid, ...listDescendants(pid)]);
    console.log(JSON.stringify({ pids, folders: servers.map(({ folder }) => folder) }));
    ${then}`;
  const { lines, ...rest } = await nodeProcess(["--input-type=module", "-e", script], () => true);
  return { ...rest, ...(JSON.parse(lines[0] ?? "") as Started) };
}

async function areAllRemoved({ pids, folders }: Started): Promise<boolean> {
  expect(pids.length).toBeGreaterThan(3);
  expect(folders).toHaveLength(2);
  await until(
    "all processes and folders to be removed",
    () => !pids.some(isAlive) && !folders.some((folder) => existsSync(folder)),
  );
  return true;
}

/** Returns an empty string if the process has ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

test("after kill -9 of the owner", async () => {
  const owner = await careless("setInterval(() => {}, 1000);");
  expect(owner.pids.every(isAlive)).toBe(true);
  owner.child.kill("SIGKILL");
  expect(await areAllRemoved(owner)).toBe(true);
});

test("after kill -9 of the owner of frozen servers", async () => {
  const owner = await careless("for (const each of servers) each.freeze(); setInterval(() => {}, 1000);");
  owner.child.kill("SIGKILL");
  expect(await areAllRemoved(owner)).toBe(true);
});

test("after kill -9 of the watchdog, and then of the owner", async () => {
  const owner = await careless("process.on('SIGUSR2', () => console.log()); setInterval(() => {}, 1000);");
  const watchdogs = () =>
    listDescendants(owner.child.pid ?? 0).filter((pid) => commandOf(pid).includes("watchdog.ts"));
  const [first = 0] = watchdogs();
  process.kill(first, "SIGTERM");
  process.kill(first, "SIGKILL");
  await until("another watchdog", () => watchdogs().some((pid) => pid !== first));
  // The new watchdog gets its commands in the same task that starts it, so an answer now proves that it has them.
  const answered = once(owner.child.stdout.resume(), "data");
  owner.child.kill("SIGUSR2");
  await answered;
  owner.child.kill("SIGKILL");
  expect(await areAllRemoved(owner)).toBe(true);
});

test("starts nothing without a watchdog", async () => {
  vi.resetModules();
  vi.stubGlobal("process", Object.create(process, { execPath: { value: fileOf("no-such-node") } }));
  const { startRedis } = await import("./start-redis.ts");
  const error = await startRedis().catch((caught: unknown) => caught);
  vi.unstubAllGlobals();
  expect(error).toMatchObject({ code: "start_failed", message: expect.stringContaining("no-such-node") });
});

test.each([
  ["after Ctrl-C", "process.kill(process.pid, 'SIGINT');"],
  ["after a crash", "throw new Error('on purpose, by a test');"],
  ["after an end without a stop", ""],
])("%s", async (_, then) => {
  const owner = await careless(then);
  await owner.ended;
  expect(await areAllRemoved(owner)).toBe(true);
});

test("npm run services prints the URLs of the servers and stops them on Ctrl-C", async () => {
  const { child, lines, ended } = await nodeProcess([fileOf("main.ts")], (line) => line.startsWith("Ready."));
  const urls = new Map(lines.slice(0, 2).map((line) => line.split("=", 2) as [string, string]));
  const redisPort = Number(new URL(urls.get("REDIS_URL") ?? "").port);
  expect(await redisCommand(redisPort, ["PING"])).toBe("PONG");
  const client = new Client({ connectionString: urls.get("DATABASE_URL") });
  await client.connect();
  expect((await client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  await client.end();

  const pids = listDescendants(child.pid ?? 0);
  child.kill("SIGINT");
  expect(await ended).toEqual([0, null]);
  await until("all processes and folders to be removed", () => !pids.some(isAlive));
});

test("npm run services -- --cluster names all nodes, and --help has examples", async () => {
  const cluster = await nodeProcess([fileOf("main.ts"), "--cluster"], (line) => line.startsWith("Ready."));
  const [, urls = ""] = cluster.lines[0]?.split("=") ?? [];
  expect(urls.split(",")).toHaveLength(3);
  cluster.child.kill("SIGTERM");
  expect(await cluster.ended).toEqual([0, null]);
  const help = await nodeProcess([fileOf("main.ts"), "--help"], () => false);
  expect(help.lines).toContain("  npm run services -- --cluster");
  const mistaken = await nodeProcess([fileOf("main.ts"), "--clutser"], () => false);
  expect(await mistaken.ended).toEqual([2, null]);
});
