/**
 * `addTurns` adds `turnstream turns`: `list`, `show` and `dead` find turns that hang or failed and name the reason,
 * `stop` and `retry` act on them.
 * Invariant: output contains ids, names and times, and nothing that a user or a model wrote. An unknown tenant, session
 * or turn is an error, not an empty result.
 */
import { createPostgresStore, retryTurn, stopTurn } from "@turnstream/server";
import { DEFAULT_TENANT, isStoreError } from "@turnstream/server/internal";
import {
  findTurn,
  type ListedTurn,
  listFailedTurns,
  listUnfinishedTurns,
  MAX_TURNS,
  readWorkers,
} from "../operator/turn-rows.ts";
import { formatAge } from "../operator/explain-turn.ts";
import { readTurnReport, type TurnReport } from "../operator/read-turn-report.ts";
import { type Command, Option } from "commander";
import { CommandError, UsageError, type CliContext } from "../cli-context.ts";
import { action, type CommandCall, examples } from "../command-call.ts";
import { type CliBackend, type Database, requireTenant, withBackend, withDatabase } from "../open-backend.ts";
import { formatFields, formatTable } from "../styles.ts";

interface TenantOptions {
  readonly tenant: string;
}

interface ListOptions extends TenantOptions {
  readonly state?: "running" | "waiting" | "failed";
  readonly limit: string;
}

const ID = "id of a turn or of its session";

export function addTurns(program: Command, context: CliContext): void {
  const turns = program
    .command("turns")
    .description("list, explain, stop and retry turns")
    .addHelpText(
      "after",
      examples([LIST_EXAMPLE, SHOW_EXAMPLE, "turnstream turns retry --tenant acme ses_1"]),
    );
  const add = (name: string, description: string) =>
    turns.command(name).description(description).option("--tenant <id>", "the tenant", DEFAULT_TENANT);
  add("list", "list turns that have not ended or that failed: session, turn, state, age, worker")
    .addOption(
      new Option("--state <state>", "only turns in this state").choices(["running", "waiting", "failed"]),
    )
    .option("--limit <count>", `how many turns to list, at most ${MAX_TURNS}`, "50")
    .addHelpText(
      "after",
      examples([LIST_EXAMPLE, "turnstream turns list --tenant acme --state failed --json"]),
    )
    .action(action(context, listTurns));
  turns
    .command("dead")
    .description("list turns of all tenants that ended the processes that ran them, and are not run again")
    .option("--limit <count>", `how many turns to list, at most ${MAX_TURNS}`, "50")
    .addHelpText("after", examples(["turnstream turns dead", "turnstream turns retry --tenant acme ses_1"]))
    .action(action(context, listDead));
  add("show", "show the last turn of a session, and why it is in its state")
    .argument("<id>", ID)
    .addHelpText("after", examples([SHOW_EXAMPLE]))
    .action(action(context, showTurn));
  add("stop", "request the stop of the unfinished turn of a session")
    .argument("<id>", ID)
    .addHelpText("after", examples(["turnstream turns stop --tenant acme ses_1"]))
    .action(action(context, stop));
  add("retry", "answer the message of the failed or stopped last turn again")
    .argument("<id>", ID)
    .addHelpText("after", examples(["turnstream turns retry --tenant acme ses_1"]))
    .action(action(context, retry));
}

const LIST_EXAMPLE = "turnstream turns list --tenant acme --state waiting";
const SHOW_EXAMPLE = "turnstream turns show --tenant acme ses_1";

async function listTurns(call: CommandCall, { tenant, state, limit: count }: ListOptions): Promise<void> {
  const limit = parseLimit(count);
  await withDatabase(call.settings, async (db) => {
    await requireTenant(createPostgresStore(db), tenant);
    const unfinished = state === "failed" ? [] : await listUnfinishedTurns(db, tenant, MAX_TURNS);
    const found = unfinished.filter((turn) => matches(turn, state)).slice(0, limit);
    const space = limit - found.length;
    const isFailedListed = (state === undefined || state === "failed") && space > 0;
    const turns = [...found, ...(isFailedListed ? await listFailedTurns(db, tenant, space) : [])];
    const { now, live } = await readWorkers(db);
    if (live === 0 && found.length > 0) call.notice("No worker is running.");
    if (turns.length === 0 && !call.isJson) call.notice("No such turns.");
    const { columns } = call.context;
    const isNarrow = columns !== null && columns < WIDE_COLUMNS;
    const fit = (cells: readonly string[]): readonly string[] => (isNarrow ? cells.toSpliced(4, 2) : cells);
    const rows = turns.map((turn) => fit(toCells(turn, now)));
    call.print(turns, turns.length === 0 ? [] : formatTable(fit(HEADERS), rows, columns));
  });
}

function parseLimit(count: string): number {
  const limit = Number(count);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_TURNS)
    throw new UsageError(`--limit must be an integer from 1 to ${MAX_TURNS}, got ${count}.`);
  return limit;
}

const DEAD_HEADERS = ["tenant", "session", "turn", "agent", "deaths", "ended"];

async function listDead(call: CommandCall, { limit: count }: Pick<ListOptions, "limit">): Promise<void> {
  const limit = parseLimit(count);
  await withDatabase(call.settings, async (db) => {
    const dead = await createPostgresStore(db).queue.dead({ limit });
    const { now } = await readWorkers(db);
    if (!call.isJson)
      call.notice(
        dead.length === 0
          ? "No such turns."
          : "Restart one with `turnstream turns retry --tenant TENANT SESSION`.",
      );
    const rows = dead.map(({ tenant, session, turn, agent, deaths, at }) => [
      tenant,
      session,
      turn,
      agent ?? "-",
      String(deaths),
      `${formatAge(now - at)} ago`,
    ]);
    call.print(dead, dead.length === 0 ? [] : formatTable(DEAD_HEADERS, rows, call.context.columns));
  });
}

/** A narrower terminal has no space for the columns `agent` and `attempts`. */
const WIDE_COLUMNS = 90;
const HEADERS = ["session", "turn", "state", "age", "agent", "attempts", "worker", "waits for"];

/** A message that no worker has taken waits too. */
function matches(turn: ListedTurn, state: ListOptions["state"]): boolean {
  if (state === undefined || turn.state === state) return true;
  return state === "waiting" && turn.state === "queued";
}

function toCells(turn: ListedTurn, now: number): string[] {
  const isLost = turn.worker !== null && (turn.leaseUntil ?? 0) < now;
  return [
    turn.session,
    turn.turn ?? "-",
    turn.state,
    formatAge(now - turn.since),
    turn.agent ?? "-",
    String(turn.attempts),
    turn.worker === null ? "-" : `${turn.worker}${isLost ? " (lease expired)" : ""}`,
    turn.waitsFor ?? (turn.state === "queued" ? "a worker" : "-"),
  ];
}

async function showTurn(call: CommandCall, { tenant }: TenantOptions, id = ""): Promise<void> {
  await withBackend(call.settings, async (backend) => {
    const ref = await requireTurn(backend, tenant, id);
    const report = await readTurnReport(backend, ref);
    call.print(report, describeReport(call, report));
  });
}

function describeReport({ context, styles }: CommandCall, report: TurnReport): string[] {
  const { now, worker } = report;
  const ago = (at: number | null): string => (at === null ? "-" : `${formatAge(now - at)} ago`);
  const lines = formatFields(
    [
      ["Turn", report.turn ?? "-"],
      ["Session", `${report.session} of tenant ${report.tenant}`],
      ["State", report.state],
      ["Agent", report.agent ?? "-"],
      ["Started", ago(report.startedAt)],
      ["Attempts", String(report.attempts ?? "-")],
      ...(report.deaths === 0
        ? []
        : [["Deaths", `${report.deaths} processes died while they ran it`] as const]),
      ["Worker", worker === null ? "-" : `${worker.name}, ${describeLease(worker.leaseUntil, now)}`],
      ["Last event", ago(report.lastEventAt)],
      ["Waits for", report.waitsFor.length === 0 ? "-" : report.waitsFor.join(", ")],
      ["Reason", report.reason],
      ...(report.fix === null ? [] : [["What to do", report.fix] as const]),
    ],
    context.columns,
    styles.bold,
  );
  return lines;
}

function describeLease(until: number | null, now: number): string {
  if (until === null) return "its lease is released";
  return until < now ? `its lease expired ${formatAge(now - until)} ago` : "its lease is valid";
}

async function stop(call: CommandCall, { tenant }: TenantOptions, id = ""): Promise<void> {
  await withBackend(call.settings, async (backend) => {
    const ref = await requireTurn(backend, tenant, id);
    const running = await backend.store.running.get(ref);
    // The id of a turn that has ended must not stop the turn that followed it.
    if (running === null || (id !== ref.session && id !== running.turn))
      throw new CommandError(`There is no unfinished turn ${id}.`);
    const { receipt, turn } = await stopTurn(backend, ref, { turn: running.turn });
    if (receipt === "over") throw new CommandError(`Turn ${running.turn} has just ended.`);
    call.print({ ...ref, turn, receipt }, [STOPPED[receipt]]);
    if ((await readWorkers(backend.db)).live === 0)
      call.notice("No worker is running. The turn stops when one starts.");
  });
}

const STOPPED = {
  stopping: "The stop is requested. A worker ends the turn within seconds.",
  already: "A stop was requested before. A worker ends the turn.",
} as const;

async function retry(call: CommandCall, { tenant }: TenantOptions, id = ""): Promise<void> {
  await withBackend(call.settings, async (backend) => {
    const ref = await requireTurn(backend, tenant, id);
    const { turn: last } = await readTurnReport(backend, ref);
    const retried = id === ref.session ? last : id;
    if (retried === null) throw new CommandError(`Session ${ref.session} has no turn yet.`);
    const { receipt, turn } = await retryTurn(backend, ref, retried).catch((error: unknown) => {
      if (!isStoreError(error, "CONFLICT")) throw error;
      throw new CommandError(
        `Turn ${retried} can't be retried. Only the last turn can, after a stop or an error that allows it.`,
      );
    });
    if (receipt === "busy") throw new CommandError(`Session ${ref.session} already has an unfinished turn.`);
    call.print({ ...ref, turn, retries: retried }, [`Turn ${turn} answers the message again.`]);
    if ((await readWorkers(backend.db)).live === 0)
      call.notice("No worker is running. The turn starts when one does.");
  });
}

/** @throws CommandError if the tenant has no such session or turn */
async function requireTurn(backend: Pick<CliBackend, "store" | "db">, tenant: string, id: string) {
  await requireTenant(backend.store, tenant);
  return await requireSession(backend.db, tenant, id);
}

async function requireSession(db: Database, tenant: string, id: string) {
  const ref = await findTurn(db, tenant, id);
  if (ref !== null) return ref;
  throw new CommandError(
    `Tenant ${tenant} has no session ${id}, and no turn ${id} that is unfinished or the last of one of its ${MAX_TURNS} newest sessions. Give the id of the session.`,
  );
}
