/**
 * `addDoctor` adds `turnstream doctor`: it checks Node, PostgreSQL, Redis, migrations, clocks and a proxy, and prints
 * for each whether it is right, or what is wrong and how to correct it.
 * Invariant: every check runs, also after another one failed. The exit code is 1 if any check failed. It creates no
 * session, user or table.
 */
import { describeConnectionError, SettingsError, signToken } from "@turnstream/server";
import { type DatabaseStatus, readDatabaseStatus } from "../operator/read-database-status.ts";
import {
  DEFAULT_TENANT,
  readAuditKeys,
  requireDatabaseUrl,
  requireRedisUrl,
  requireSecret,
  isStoreError,
} from "@turnstream/server/internal";
import { findNewestSession } from "../operator/turn-rows.ts";
import { readRedisStatus, type RedisStatus } from "../operator/read-redis-status.ts";
import type { Command } from "commander";
import { CommandError, type CliContext } from "../cli-context.ts";
import { action, type CommandCall, examples } from "../command-call.ts";
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
  type Probed,
} from "../doctor/judge.ts";
import { probeStream, type StreamProbe } from "../doctor/probe-stream.ts";
import { withDatabase } from "../open-backend.ts";
import { wrap } from "../styles.ts";

interface DoctorOptions {
  readonly url?: string;
  readonly tenant: string;
}

/** How long an event stream may take to deliver its first events. */
const STREAM_WAIT_MS = 5_000;
const TOKEN_MS = 60_000;

export function addDoctor(program: Command, context: CliContext): void {
  program
    .command("doctor")
    .description("check the servers and their settings, and print how to correct what is wrong")
    .option("--url <url>", "address of the gateway as browsers see it: checks whether a proxy buffers events")
    .option("--tenant <id>", "with --url: the tenant whose newest session is read", DEFAULT_TENANT)
    .addHelpText(
      "after",
      examples([
        "turnstream doctor",
        "turnstream doctor --url https://chat.example.com --tenant acme",
        "turnstream doctor --json",
      ]),
    )
    .action(action(context, runDoctor));
}

async function runDoctor(call: CommandCall, options: DoctorOptions): Promise<void> {
  const { nodeVersion } = call.context;
  const database = await probeDatabase(call);
  const redis = await probeRedis(call);
  const findings = [
    judgeNode(nodeVersion),
    judgeDatabase(database),
    judgeMigrations(database),
    checkAuditKey(call),
    judgeRedis(redis),
    judgeDurability(redis),
    judgeEviction(redis),
    judgeRoute(redis),
    judgeClocks(database, redis),
    ...(options.url === undefined ? [] : [judgeStream(await probeProxy(call, options.url, options.tenant))]),
  ];
  call.print(
    findings,
    findings.flatMap((finding) => describeFinding(finding, call)),
  );
  const failed = findings.filter(({ state }) => state === "wrong").length;
  if (failed > 0) throw new CommandError(`${failed} of ${findings.length} checks failed.`);
}

function checkAuditKey({ settings }: CommandCall): Finding {
  try {
    return judgeAuditKey(readAuditKeys(settings).length, null);
  } catch (error) {
    if (error instanceof SettingsError) return judgeAuditKey(0, "a key is too short");
    throw error;
  }
}

async function probeDatabase({ settings, context }: CommandCall): Promise<Probed<DatabaseStatus>> {
  try {
    return { status: await withDatabase(settings, (db) => readDatabaseStatus(db, () => context.now())) };
  } catch (error) {
    if (isMistake(error)) return { problem: error.message };
    if (isStoreError(error)) return { problem: describeConnectionError(error, requireDatabaseUrl(settings)) };
    throw error;
  }
}

async function probeRedis({ settings, context }: CommandCall): Promise<RedisStatus> {
  try {
    return await readRedisStatus(requireRedisUrl(settings), () => context.now());
  } catch (error) {
    if (isMistake(error)) return { isReachable: false, problem: error.message };
    throw error;
  }
}

async function probeProxy(call: CommandCall, url: string, tenant: string): Promise<StreamProbe> {
  try {
    const secret = requireSecret(call.settings);
    const newest = await withDatabase(call.settings, (db) => findNewestSession(db, tenant));
    if (newest === null)
      return { result: "skipped", reason: `tenant ${tenant} has no session to read; send a message first` };
    const { session, user } = newest;
    const now = call.context.now();
    const claims = { tenant, user, key: null, scopes: ["read"], expiresAt: now + TOKEN_MS };
    const token = await signToken(claims, secret, now);
    return await probeStream({ url, session, token, waitMs: STREAM_WAIT_MS });
  } catch (error) {
    if (isMistake(error)) return { result: "skipped", reason: error.message };
    if (isStoreError(error)) return { result: "skipped", reason: "PostgreSQL can't be used" };
    throw error;
  }
}

function isMistake(error: unknown): error is CommandError | SettingsError {
  return error instanceof CommandError || error instanceof SettingsError;
}

const MARKS = { ok: "ok", wrong: "wrong", warning: "warn", hint: "hint", skipped: "-" } as const;
const MARK_CHARS = 7;

function describeFinding({ name, state, text, fix }: Finding, { styles, context }: CommandCall): string[] {
  const { green, red, magenta, dim } = styles;
  const color = { ok: green, wrong: red, warning: magenta, hint: dim, skipped: dim }[state];
  const width = (context.columns ?? Infinity) - MARK_CHARS;
  const [first = "", ...rest] = wrap(`${name}: ${text}`, width);
  const more = [...rest, ...(fix === null ? [] : wrap(`Fix: ${fix}`, width))];
  return [
    `${color(MARKS[state].padEnd(MARK_CHARS))}${first}`,
    ...more.map((line) => `${" ".repeat(MARK_CHARS)}${line}`),
  ];
}
