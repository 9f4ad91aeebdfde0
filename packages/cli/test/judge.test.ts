/** Tests the pure parts of the CLI: the checks of `doctor`, settings without secrets, and what reaches a terminal. */
import { type DatabaseStatus } from "../src/operator/read-database-status.ts";
import { type RedisStatus } from "../src/operator/read-redis-status.ts";
import { resolveSettings } from "@turnstream/server/internal";
import { describe, expect, test } from "vitest";
import {
  type Finding,
  judgeAuditKey,
  judgeClocks,
  judgeDatabase,
  judgeDurability,
  judgeEviction,
  judgeMigrations,
  judgeNode,
  judgeRedis,
  judgeRoute,
  judgeStream,
} from "../src/doctor/judge.ts";
import { describeSettings } from "../src/commands/config.ts";
import { createStyles, formatFields, formatTable, toPrintable, usesColors } from "../src/styles.ts";
import { describeFrame } from "../src/tail/describe-frame.ts";

const UP_TO_DATE = { otherBaseline: null, pending: [], unknown: [] };
const DATABASE: DatabaseStatus = { version: "15.4", clockAheadMs: 3, migrations: UP_TO_DATE };
const REDIS = {
  isReachable: true,
  version: "7.0.15",
  refusal: null,
  durability: { state: "durable" },
  route: { socket: "10.0.0.1:50000 to 10.0.0.2:6379", redis: "10.0.0.1:50000 to 10.0.0.2:6379" },
  evictionPolicy: "noeviction",
  clockAheadMs: -2,
} as const satisfies RedisStatus;
type Durability = Extract<RedisStatus, { isReachable: true }>["durability"];
const DOWN: RedisStatus = { isReachable: false, problem: "Nothing listens at 127.0.0.1:1" };

const clocks = (database: number, redis: number) =>
  judgeClocks({ status: { ...DATABASE, clockAheadMs: database } }, { ...REDIS, clockAheadMs: redis });

describe("doctor", () => {
  test("servers that are set up well pass", () => {
    const findings = [
      judgeNode("22.19.0"),
      judgeDatabase({ status: DATABASE }),
      judgeMigrations({ status: DATABASE }),
      judgeAuditKey(1, null),
      judgeRedis(REDIS),
      judgeDurability(REDIS),
      judgeEviction(REDIS),
      judgeRoute(REDIS),
      judgeClocks({ status: DATABASE }, REDIS),
      judgeStream({ result: "in pieces" }),
    ];
    expect(findings.filter(({ state }) => state !== "ok")).toEqual([]);
  });

  test.each([
    ["an old Node", judgeNode("22.18.9"), "Install Node 22.19"],
    ["an old PostgreSQL", judgeDatabase({ status: { ...DATABASE, version: "13.9" } }), "Upgrade PostgreSQL"],
    ["an unreachable PostgreSQL", judgeDatabase({ problem: "Nothing listens there." }), "DATABASE_URL"],
    [
      "a newer database",
      judgeMigrations({ status: { ...DATABASE, migrations: { ...UP_TO_DATE, unknown: ["0099-x"] } } }),
      "a later one",
    ],
    [
      "a database of another baseline",
      judgeMigrations({ status: { ...DATABASE, migrations: { ...UP_TO_DATE, otherBaseline: "0001-x" } } }),
      "use an empty database",
    ],
    ["an audit key that is too short", judgeAuditKey(0, "a key is too short"), "TURNSTREAM_AUDIT_KEY"],
    ["an old Redis", judgeRedis({ ...REDIS, version: "6.2.1" }), "Upgrade Redis"],
    ["an unreachable Redis", judgeRedis(DOWN), "REDIS_URL"],
    ["a replica", judgeRedis({ ...REDIS, refusal: "READONLY You can't write" }), "primary"],
    ["a full disk", judgeRedis({ ...REDIS, refusal: "MISCONF Redis is configured" }), "disk"],
    ["missing replicas", judgeRedis({ ...REDIS, refusal: "NOREPLICAS Not enough" }), "min-replicas"],
    ["a refused token", judgeStream({ result: "refused", url: "http://x", status: 401 }), "secret"],
    ["another server", judgeStream({ result: "refused", url: "http://x", status: 404 }), "/api/v1"],
    ["a wrong URL", judgeStream({ result: "unreachable", url: "http://x" }), "--url"],
  ])("%s fails with a fix", (_, finding, fix) => {
    expect(finding).toMatchObject({ state: "wrong", fix: expect.stringContaining(fix) as string });
  });

  test("clocks are compared with each other, not only with this machine", () => {
    expect(clocks(999, 0).state).toBe("ok");
    expect(clocks(600, -600).text).toBe("the clock of PostgreSQL is 1.2 s ahead of the clock of Redis");
    expect(clocks(-1_000, 0).text).toContain("ahead of the clock of PostgreSQL");
  });

  test("a missing audit key is a warning with a fix", () => {
    expect(judgeAuditKey(0, null)).toMatchObject({
      state: "warning",
      fix: expect.stringContaining("openssl rand -hex 32") as string,
    });
  });

  test("a check that can't run is skipped and not passed", () => {
    const skipped = [
      judgeDurability(DOWN),
      judgeEviction(DOWN),
      judgeRoute(DOWN),
      judgeRoute({ ...REDIS, route: null }),
      judgeMigrations({ problem: "x" }),
    ];
    expect(new Set(skipped.map(({ state }) => state))).toEqual(new Set(["skipped"]));
  });

  test.each<[string, Durability, Finding["state"], RegExp]>([
    ["an append-only file that is always synced", { state: "durable" }, "ok", /^durable \(.*A failover/],
    ["a durable service", { state: "by-service", service: "X" }, "ok", /^durable by the service \(X\)/],
    [
      "another setting",
      { state: "lossy", setting: "appendonly no" },
      "warning",
      /^not durable \(appendonly no\)/,
    ],
    ["hidden settings", { state: "unknown" }, "warning", /^unknown, because the server doesn't show/],
  ])("the durability of Redis with %s", (_, durability, state, text) => {
    const finding = judgeDurability({ ...REDIS, durability });
    expect(finding).toMatchObject({ state, text: expect.stringMatching(text) as string });
    expect(finding.fix === null).toBe(state === "ok");
    expect(`${finding.text} ${finding.fix ?? ""}`).toContain("docs/managed-redis.md");
  });

  test("other addresses than those of our socket are a hint", () => {
    const route = { ...REDIS.route, redis: "10.0.0.9:41000 to 10.0.0.2:6379" };
    const finding = judgeRoute({ ...REDIS, route });
    expect(finding).toMatchObject({ state: "hint", fix: null });
    expect(finding.text).toContain("10.0.0.1:50000 to 10.0.0.2:6379, and Redis sees 10.0.0.9:41000 to");
  });
});

test("settings name their source and show no secret", () => {
  const env = {
    DATABASE_URL: "postgres://app:canary@db.example:5433/chat?password=canary",
    REDIS_URL: "redis://:canary@cache.example:6380/1",
    TURNSTREAM_SECRET: "canary".repeat(8),
    TURNSTREAM_AUDIT_KEY: "canary".repeat(6),
  };
  const shown = describeSettings(resolveSettings({ redisUrl: "redis://other:6379" }, env));
  expect(shown).toEqual([
    { name: "DATABASE_URL", value: "postgres://app:***@db.example:5433/chat?…", source: "environment" },
    { name: "REDIS_URL", value: "redis://other:6379", source: "option" },
    { name: "TURNSTREAM_SCHEMA", value: "turnstream", source: "default" },
    { name: "TURNSTREAM_SECRET", value: "(hidden, 48 bytes)", source: "environment" },
    { name: "TURNSTREAM_AUDIT_KEY", value: "(hidden, 36 bytes)", source: "environment" },
  ]);
  for (const url of ["postgres://u:canary/x@host/name", "canary", "mysql://u:canary@host/x"])
    expect(JSON.stringify(describeSettings(resolveSettings({ databaseUrl: url }, env)))).not.toContain(
      "canary",
    );
});

describe("terminal", () => {
  test("NO_COLOR wins over FORCE_COLOR, and a pipe has no colors", () => {
    expect(usesColors({}, true)).toBe(true);
    expect(usesColors({}, false)).toBe(false);
    expect(usesColors({ NO_COLOR: "1", FORCE_COLOR: "1" }, true)).toBe(false);
    expect(usesColors({ FORCE_COLOR: "1" }, false)).toBe(true);
    expect(usesColors({ TERM: "dumb" }, true)).toBe(false);
  });

  test("content can't send escape sequences to the terminal", () => {
    const text = toPrintable("a\u001b[2Jb\u001b]0;title\u0007c\nd\u0000\u202ee");
    expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(text).toContain("ab");
  });

  test("a line fits into the terminal, also with wide characters", () => {
    expect(toPrintable("營業時間是九點", 8)).toBe("營業時…");
    const plain = { styles: createStyles(false), columns: 50 };
    const line = describeFrame(0, { type: "text.delta", turn: "t", text: "x".repeat(90) }, plain);
    expect(line).toBe(`00:00:00.000  text.delta           turn=t text=${"x".repeat(2)}…`);
    const table = formatTable(["session", "worker"], [["s".repeat(36), "w".repeat(36)]], 40);
    expect(table.every((row) => row.length <= 40)).toBe(true);
    expect(formatTable(["a"], [["x\ty"]], null)).toEqual(["x y"]);
    expect(formatFields([["Why", "one two three"]], 12)).toEqual(["Why  one two", "     three"]);
  });

  test("colors are only added around the text", () => {
    const frame = { type: "notice.error", code: "SERVER_ERROR" };
    const colored = describeFrame(0, frame, { styles: createStyles(true), columns: null });
    expect(colored).toContain("\u001b[31mnotice.error");
    expect(describeFrame(0, frame, { styles: createStyles(false), columns: null })).not.toContain("\u001b");
  });
});
