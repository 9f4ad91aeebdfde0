/** Tests `npm run services`, and that no server survives its owner, however the owner ends. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

import { Client } from "pg";
import { expect, test, vi } from "vitest";

import { freePort } from "../network/free-port.ts";
import { makeFolder, removeFolder } from "../processes/watch.ts";
import { until } from "../util/until.ts";
import { listDescendants, isAlive } from "../processes/process-tree.ts";
import { redisCommand } from "./redis-command.ts";

const fileOf = (name: string) => join(import.meta.dirname, name);

async function nodeProcess(
  args: string[],
  isLast: (line: string) => boolean,
  env: NodeJS.ProcessEnv = process.env,
) {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], env });
  const ended = once(child, "exit");
  const errors = text(child.stderr);
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (isLast(line)) break;
  }
  return { child, lines, ended, errors };
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

/** Starts `npm run services` on free ports, and returns its variables. */
async function services(...args: string[]) {
  const ports = ["--postgres-port", String(await freePort()), "--redis-port", String(await freePort())];
  const started = await nodeProcess([fileOf("main.ts"), ...ports, ...args], (line) =>
    line.startsWith("Ready."),
  );
  const variables = Object.fromEntries(
    started.lines.slice(0, 3).map((line) => line.replace("export ", "").split("=", 2) as [string, string]),
  );
  return { ...started, ports, variables };
}

async function query(url: string | undefined, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return rows;
}

const redisPort = ({ REDIS_URL = "" }: Record<string, string>) => Number(new URL(REDIS_URL).port);

async function untilStopped(child: ChildProcess, ended: Promise<unknown[]>): Promise<void> {
  const pids = listDescendants(child.pid ?? 0);
  expect(pids.length).toBeGreaterThan(3);
  child.kill("SIGINT");
  expect(await ended).toEqual([0, null]);
  await until("all processes to exit", () => !pids.some(isAlive));
}

test("npm run services keeps its data in a folder, for the next start on the same ports", async () => {
  const folder = await makeFolder("services");
  // PostgreSQL doesn't run as root, and its user must reach the folder.
  chmodSync(folder, 0o755);
  const data = join(folder, "data");
  const first = await services("--data", data);
  expect(first.lines.at(-1)).toContain(data);
  await query(first.variables["DATABASE_URL"], "create table saved as select 7 as n");
  await redisCommand(redisPort(first.variables), ["SET", "saved", "seven"]);
  // A port in use is named, with the option to change. Nothing of the other start is left behind.
  const second = await nodeProcess([fileOf("main.ts"), ...first.ports], () => false);
  expect(await second.ended).toEqual([1, null]);
  expect(await second.errors).toBe(
    `Port ${first.ports[1]} is in use. Choose another one for PostgreSQL: --postgres-port N\n`,
  );
  await untilStopped(first.child, first.ended);

  const again = await nodeProcess([fileOf("main.ts"), ...first.ports, "--data", data], (line) =>
    line.startsWith("Ready."),
  );
  expect(again.lines.slice(0, 3)).toEqual(first.lines.slice(0, 3));
  expect(await query(first.variables["DATABASE_URL"], "select n from saved")).toEqual([{ n: 7 }]);
  expect(await redisCommand(redisPort(first.variables), ["GET", "saved"])).toBe("seven");
  // Without time to stop its servers, the data stay too.
  const pids = listDescendants(again.child.pid ?? 0);
  again.child.kill("SIGKILL");
  await until("all processes to exit", () => !pids.some(isAlive));
  const last = await nodeProcess([fileOf("main.ts"), ...first.ports, "--data", data], (line) =>
    line.startsWith("Ready."),
  );
  expect(await query(first.variables["DATABASE_URL"], "select n from saved")).toEqual([{ n: 7 }]);
  await untilStopped(last.child, last.ended);
  removeFolder(folder);
});

test("npm run services names the program to install, and the port is fixed unless it is given", async () => {
  const { ended, errors } = await nodeProcess([fileOf("main.ts")], () => false, {
    PATH: import.meta.dirname,
  });
  expect(await ended).toEqual([1, null]);
  expect(await errors).toMatch(
    /redis-server is not installed: apt-get install redis-server .*\n.*docker compose up/,
  );
  const help = await nodeProcess([fileOf("main.ts"), "--help"], () => false);
  expect(help.lines).toContain("  npm run services -- --cluster");
  expect(help.lines.join("\n")).toContain("port of PostgreSQL (default: 5433)");
  const mistaken = await nodeProcess([fileOf("main.ts"), "--redis-port", "x"], () => false);
  expect(await mistaken.ended).toEqual([2, null]);
});

test("npm run services -- --cluster names all nodes", async () => {
  const cluster = await services("--cluster");
  expect(cluster.variables["REDIS_CLUSTER_URLS"]?.split(",")).toHaveLength(3);
  await untilStopped(cluster.child, cluster.ended);
});
