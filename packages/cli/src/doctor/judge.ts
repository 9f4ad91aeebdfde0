/**
 * `judgeNode`, `judgeDatabase`, `judgeMigrations`, `judgeAuditKey`, `judgeRedis`, `judgeDurability`, `judgeRoute`, `judgeEviction`,
 * `judgeClocks` and `judgeStream` decide for each check of `turnstream doctor` whether it passed, and how to correct what is wrong. Pure.
 * Invariant: a finding that is wrong or a warning always has a fix that names the setting, variable or command to change. Texts
 * contain no password.
 */
import { type DatabaseStatus } from "../operator/read-database-status.ts";
import { isSupportedNode, MIN_NODE } from "@turnstream/server/internal";
import { type RedisStatus } from "../operator/read-redis-status.ts";
import type { StreamProbe } from "./probe-stream.ts";

export interface Finding {
  readonly name: string;
  /** A server with a warning works, but lacks a protection. A hint may be harmless. */
  readonly state: "ok" | "wrong" | "warning" | "hint" | "skipped";
  readonly text: string;
  /** Null unless the state is `wrong` or `warning`. */
  readonly fix: string | null;
}

/** `problem` is set if the server can't be used at all. */
export type Probed<T> = { readonly status: T } | { readonly problem: string };

const MIN_POSTGRES = 14;
const MIN_REDIS = 7;
const MAX_CLOCK_MS = 1_000;

export function judgeNode(version: string): Finding {
  return isSupportedNode(version)
    ? ok("Node", version)
    : wrong("Node", `${version} is too old`, `Install Node ${MIN_NODE.join(".")} or later.`);
}

export function judgeDatabase(database: Probed<DatabaseStatus>): Finding {
  if ("problem" in database)
    return wrong(
      "PostgreSQL",
      database.problem,
      "Correct DATABASE_URL or the server, then run `turnstream doctor` again.",
    );
  const { version } = database.status;
  return Number.parseInt(version, 10) >= MIN_POSTGRES
    ? ok("PostgreSQL", version)
    : wrong("PostgreSQL", `${version} is too old`, `Upgrade PostgreSQL to ${MIN_POSTGRES} or later.`);
}

export function judgeMigrations(database: Probed<DatabaseStatus>): Finding {
  if ("problem" in database) return skipped("Migrations", "PostgreSQL can't be used");
  const { otherBaseline, pending, unknown } = database.status.migrations;
  if (otherBaseline !== null)
    return wrong(
      "Migrations",
      `another unreleased version created the tables: ${otherBaseline}`,
      "Drop the schema TURNSTREAM_SCHEMA (by default `turnstream`), or use an empty database.",
    );
  if (unknown.length > 0)
    return wrong(
      "Migrations",
      `the database has migrations of a newer version: ${unknown.join(", ")}`,
      "Install the version of Turnstream that migrated this database, or a later one.",
    );
  return pending.length === 0
    ? ok("Migrations", "up to date")
    : wrong("Migrations", `missing: ${pending.join(", ")}`, "Run `turnstream migrate`.");
}

/** @param problem why the keys can't be used, or null */
export function judgeAuditKey(keys: number, problem: string | null): Finding {
  const name = "Audit key";
  const fix = "Set TURNSTREAM_AUDIT_KEY to the output of `openssl rand -hex 32`, in all processes.";
  if (problem !== null) return wrong(name, problem, fix);
  if (keys > 0) return ok(name, "the audit is signed");
  return warning(
    name,
    "not set, so a process with write access to PostgreSQL can rewrite the audit unnoticed",
    fix,
  );
}

export function judgeRedis(redis: RedisStatus): Finding {
  if (!redis.isReachable) return wrong("Redis", redis.problem, "Start Redis there, or correct REDIS_URL.");
  const { version, refusal } = redis;
  if (refusal !== null)
    return wrong("Redis", `${version} refuses writes: ${refusal}`, describeRefusal(refusal));
  return Number.parseInt(version, 10) >= MIN_REDIS
    ? ok("Redis", version)
    : wrong("Redis", `${version} is too old`, `Upgrade Redis to ${MIN_REDIS} or later, or use Valkey.`);
}

/** By the code with which an error of Redis starts. */
function describeRefusal(refusal: string): string {
  if (refusal.startsWith("OOM"))
    return "Its memory is full: raise `maxmemory`, or remove other data from it.";
  if (refusal.startsWith("READONLY")) return "It is a replica: set REDIS_URL to the primary.";
  if (refusal.startsWith("MISCONF"))
    return "It can't save to its disk: free disk space, and read the log of Redis.";
  if (refusal.startsWith("NOREPLICAS"))
    return "It needs replicas: start them, or lower `min-replicas-to-write`.";
  return "Read the log of Redis, and check the permissions of the user in REDIS_URL.";
}

export function judgeDurability(redis: RedisStatus): Finding {
  const name = "Redis durability";
  if (!redis.isReachable) return skipped(name, "Redis can't be reached");
  const { durability } = redis;
  switch (durability.state) {
    case "durable":
      return ok(
        name,
        `durable (appendonly yes, appendfsync always): a crash of Redis loses nothing that users have seen. A failover to a replica may lose the newest text, and readers are notified. ${PAGE}`,
      );
    case "by-service":
      return ok(
        name,
        `durable by the service (${durability.service}): it stores each event in several zones before users see it, so neither a crash nor a failover loses one. ${PAGE}`,
      );
    case "lossy":
      return warning(
        name,
        `not durable (${durability.setting}): ${LOSS}`,
        `Set \`appendonly yes\`, \`appendfsync always\` and \`no-appendfsync-on-rewrite no\` in redis.conf, or use a durable service. ${PAGE}`,
      );
    case "unknown":
      return warning(
        name,
        `unknown, because the server doesn't show its settings. Unless the service stores each write before it replies, ${LOSS}`,
        `Look up what the service promises. ${PAGE}`,
      );
  }
}

const LOSS =
  "a crash or failover may lose the newest text of running turns. Readers are notified of each loss, and decisions, messages and payments are in PostgreSQL";
const PAGE = "See docs/managed-redis.md.";

export function judgeRoute(redis: RedisStatus): Finding {
  const name = "Redis connection";
  if (!redis.isReachable) return skipped(name, "Redis can't be reached");
  if (redis.route === null) return skipped(name, "the server doesn't show which addresses it sees");
  const { socket, redis: seen } = redis.route;
  if (socket === seen) return ok(name, "direct");
  const text = `our socket connects ${socket}, and Redis sees ${seen}. A proxy in between may hide a failover; a port mapping or NAT looks the same, and is harmless. ${PAGE}`;
  return { name, state: "hint", text, fix: null };
}

export function judgeEviction(redis: RedisStatus): Finding {
  if (!redis.isReachable) return skipped("Redis eviction", "Redis can't be reached");
  const { evictionPolicy } = redis;
  if (evictionPolicy === null) return skipped("Redis eviction", "the server doesn't show its policy");
  return evictionPolicy === "noeviction"
    ? ok("Redis eviction", "maxmemory-policy noeviction")
    : wrong(
        "Redis eviction",
        `maxmemory-policy is ${evictionPolicy}, so Redis deletes logs when its memory is full`,
        "Set `maxmemory-policy noeviction` in redis.conf.",
      );
}

export function judgeClocks(database: Probed<DatabaseStatus>, redis: RedisStatus): Finding {
  const ahead: (readonly [string, number])[] = [["this machine", 0]];
  if ("status" in database) ahead.push(["PostgreSQL", database.status.clockAheadMs]);
  if (redis.isReachable) ahead.push(["Redis", redis.clockAheadMs]);
  if (ahead.length < 2) return skipped("Clocks", "no server can be reached");
  const [first, last] = [ahead, ahead].map((each, n) =>
    each.reduce((a, b) => ((n === 0 ? b[1] < a[1] : b[1] > a[1]) ? b : a)),
  ) as [readonly [string, number], readonly [string, number]];
  const differenceMs = last[1] - first[1];
  if (differenceMs < MAX_CLOCK_MS) return ok("Clocks", `differ by ${differenceMs} ms`);
  return wrong(
    "Clocks",
    `the clock of ${last[0]} is ${(differenceMs / 1_000).toFixed(1)} s ahead of the clock of ${first[0]}`,
    "Synchronize the clocks of these machines with NTP.",
  );
}

export function judgeStream(probe: StreamProbe): Finding {
  const name = "Proxy";
  if (probe.result === "skipped") return skipped(name, probe.reason);
  if (probe.result === "in pieces") return ok(name, "an event stream arrives in pieces");
  if (probe.result === "buffered")
    return wrong(
      name,
      `no complete event arrived in ${probe.waitedMs / 1_000} s, so a proxy buffers event streams`,
      "Set `proxy_buffering off` in nginx, or switch off response buffering of your proxy for /api/v1.",
    );
  if (probe.result === "unreachable") return wrong(name, `${probe.url} can't be reached`, "Correct --url.");
  if (probe.status === 401)
    return wrong(
      name,
      "the gateway refuses a token signed with TURNSTREAM_SECRET",
      "Use the secret of the gateway.",
    );
  return wrong(
    name,
    `${probe.url} answers with status ${probe.status}`,
    "Give the address under which /api/v1 of the gateway is served.",
  );
}

function ok(name: string, text: string): Finding {
  return { name, state: "ok", text, fix: null };
}

function wrong(name: string, text: string, fix: string): Finding {
  return { name, state: "wrong", text, fix };
}

function warning(name: string, text: string, fix: string): Finding {
  return { name, state: "warning", text, fix };
}

function skipped(name: string, reason: string): Finding {
  return { name, state: "skipped", text: `not checked: ${reason}`, fix: null };
}
