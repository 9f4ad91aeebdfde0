/**
 * Runs the commands of docs/backup-and-restore.md exactly as printed. The sessions then continue with changed code, as
 * docs/upgrade.md promises.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { listBlocks, snapshot } from "@turnstream/protocol";
import { makeFolder, removeFolder } from "@turnstream/testkit/processes/watch.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { script } from "../src/models/script-parts.ts";
import { scriptedModel } from "../src/models/scripted-model.ts";
import { defineAgent } from "../src/agent/define/agent.ts";
import { tool } from "../src/agent/define/tool.ts";
import { type Turnstream, turnstream } from "../src/turnstream/turnstream.ts";

const page = readFileSync(new URL("../../../docs/backup-and-restore.md", import.meta.url), "utf8");
const commands = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, code = ""]) => code);

let redis: RedisServer;
let databaseUrl: string;
let folder: string;

beforeAll(async () => {
  [redis, databaseUrl, folder] = await Promise.all([startRedis(), freshDatabaseUrl(), makeFolder("backup")]);
});
afterAll(async () => {
  await redis.stop();
  removeFolder(folder);
});

/** Runs a block of commands in a shell, as an operator who pastes it. */
function run(block: string): void {
  execFileSync("bash", ["-euo", "pipefail", "-c", block], {
    cwd: folder,
    stdio: "pipe",
    env: { ...process.env, DATABASE_URL: databaseUrl, REDIS_URL: redis.url },
  });
}

/** @param version what the order tool of this version of the app returns */
function openApp(version: string, migrates: boolean): Turnstream {
  const buy = tool({
    input: z.object({ count: z.int() }),
    approval: { timeoutMs: null },
    run: ({ count }) => `bought ${count}, version ${version}`,
  });
  const model = scriptedModel(({ text, step }) => {
    if (!text.startsWith("Buy")) return [script.text(`You wrote ${text}.`)];
    return step === 0 ? [script.toolCall("buy", { count: 100 })] : [script.text("Ordered.")];
  });
  return turnstream({
    agents: [defineAgent({ name: "desk", model, tools: { buy } })],
    user: () => "linh",
    databaseUrl,
    redisUrl: redis.url,
    secret: "a secret of at least 32 bytes, or so",
    migrates,
    print: false,
  });
}

async function readTurns(app: Turnstream, session: string) {
  return (await app.sessions.read(session)).state.turns.toArray();
}

async function untilAnswered(app: Turnstream, session: string, turns: number): Promise<void> {
  await until("an answer", async () => {
    const statuses = (await readTurns(app, session)).map(({ status }) => status);
    return statuses.length === turns && statuses.every((status) => status === "end_turn");
  });
}

async function readApproval(app: Turnstream, session: string): Promise<string | null> {
  const [turn] = await readTurns(app, session);
  const block = turn === undefined ? undefined : listBlocks(turn).find(({ kind }) => kind === "approval");
  return block?.kind === "approval" && block.status === "pending" ? block.key : null;
}

test("the commands restore everything into empty servers, and sessions continue", async () => {
  const [backUp = "", wipe = "", restore = "", ...others] = commands;
  expect(others).toEqual([]);
  const before = openApp("1", true);
  await before.worker();
  const [talk, order] = await Promise.all([
    before.sessions.create({ user: "linh", title: "A talk" }),
    before.sessions.create({ user: "linh" }),
  ]);
  await Promise.all([before.sessions.send(talk.id, "hello"), before.sessions.send(order.id, "Buy 100")]);
  await untilAnswered(before, talk.id, 1);
  await until("the request for approval", async () => (await readApproval(before, order.id)) !== null);
  const read = async (app: Turnstream) =>
    await Promise.all(
      [talk, order].map(async ({ id }) => snapshot((await app.sessions.read(id)).state).turns),
    );
  // Events that were written a moment ago are only in Redis.
  await until("the archive to have all events", async () => {
    const histories = await Promise.all([talk, order].map(({ id }) => before.sessions.read(id)));
    return histories.every(({ cursor, archivedUpTo }) => cursor === archivedUpTo);
  });
  const expected = await read(before);
  run(backUp);
  await before.sessions.send(talk.id, "written after the backup");
  await untilAnswered(before, talk.id, 2);
  await before.close();

  run(wipe);
  expect(await redis.command("DBSIZE")).toBe(0);
  expect(await runSql(databaseUrl, "select from pg_namespace where nspname = 'turnstream'")).toHaveLength(0);

  run(restore);
  const after = openApp("2", false);
  expect(await read(after)).toEqual(expected);
  await after.worker();
  await after.sessions.send(talk.id, "again");
  await untilAnswered(after, talk.id, 2);
  const key = (await readApproval(after, order.id)) ?? "";
  await after.sessions.decide(order.id, { key, decision: "approve", userId: "linh" });
  await untilAnswered(after, order.id, 1);
  // The turn that started before the backup calls the new code of its tool.
  expect(JSON.stringify(await readTurns(after, order.id))).toContain("bought 100, version 2");
  await after.close();
  rmSync(join(folder, "turnstream.dump"));
});
