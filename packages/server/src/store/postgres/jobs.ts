/**
 * `postgresJobs` implements the job queue on PostgreSQL: the queued jobs in `JobQueue`, the turns that run in
 * `running_turns`.
 *
 * Invariant: a job is queued in the same transaction in which its turn loses its process. `recover` locks only rows of
 * turns and skips locked ones, so it waits for no session.
 */
import { sql } from "kysely";
import type { Jobs, TurnJob } from "../ports/jobs.ts";
import { sessionKey } from "../../util/refs.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { checkDuration, checkLimit } from "../rules/arguments.ts";
import {
  HEARTBEAT_SECONDS,
  MIN_SUSPICION,
  mustRunAlone,
  recoveryDelayMs,
  suspicionOf,
} from "../rules/jobs.ts";
import type { Db } from "./database.ts";
import type { JobQueue } from "./job-queue.ts";
import { ago, bytewiseOrder, clock, inTransaction, lockSessionRow, tryLockSession } from "./session-row.ts";
import { moveOrphans } from "./start-turn.ts";
import { queueAgent, queueParked, type QueuedRow, toJob } from "./turn-jobs.ts";

/** The condition of an index, so its number is no parameter. */
const IS_SUSPECTED = sql.raw(`suspicion >= ${MIN_SUSPICION}`);
/** One process per interval looks for missed heartbeats. */
const MAINTENANCE_MS = (HEARTBEAT_SECONDS * 1_000) / 3;

type ReturnedRow = QueuedRow & { tenant_id: string; session_id: string };

export function postgresJobs(db: Db, queue: JobQueue): Jobs {
  return {
    fetch: async ({ agents, limit, skipTenants = [], alone }) => {
      const most = alone ? 1 : checkLimit(limit, MAX_BATCH);
      const keys = [...new Set(agents)].map((agent) => ({ agent, alone }));
      return queue.fetch(keys, { limit: most, skipTenants });
    },
    async heartbeat(jobs) {
      if (jobs.length === 0) return [];
      const started = await startedJobs(db, jobs);
      const unstarted = jobs.filter(({ id }) => !started.has(id));
      const lost = unstarted.length === 0 ? [] : await queue.touch(unstarted);
      if (lost.length === 0) return [];
      // A turn that started after the first look has removed its job from the queue.
      const startedSince = await startedJobs(db, unstarted);
      return lost.filter((id) => !startedSince.has(id));
    },
    release: (jobs, { delayMs = 0 } = {}) =>
      inTransaction(db, async (tx) => {
        checkDuration(delayMs, "delayMs");
        if (jobs.length === 0) return;
        const { rows } = await sql<ReturnedRow & { old_job: string }>`
          update running_turns r set executor = null, job = gen_random_uuid(),
            queue_agent = ${queueAgent(sql.ref("r.agent"))}
          from ${named(jobs)}
          where r.tenant_id = named.tenant and r.session_id = named.session and r.job = named.id
            and r.executor is not null
          returning r.tenant_id, r.session_id, r.job, r.queue_agent, r.rank, r.owner, r.deaths, r.alone,
            named.id as old_job`.execute(tx);
        await queue.add(
          tx,
          rows.flatMap((row) => toJob(refOf(row), row)).map((job) => ({ ...job, delayMs })),
        );
        const started = new Set(rows.map((row) => row.old_job));
        const unstarted = jobs.filter(({ id }) => !started.has(id));
        if (unstarted.length > 0) await queue.return(tx, unstarted, delayMs);
      }),
    async left(executor, { limit }) {
      const rows = await leftTurns(db, executor, limit).execute();
      return rows.map(({ turn, ...row }) => ({ ...refOf(row), turn }));
    },
    recover: (executor, { limit, withTool = [] }) =>
      inTransaction(db, async (tx) => {
        const left = leftTurns(tx, executor, limit).forUpdate().skipLocked();
        const { rows } = await sql<CountedRow>`
          with left_turns as (${left})
          update running_turns r set executor = null, deaths = r.deaths + 1, alone = false, suspicion = 0,
            job = gen_random_uuid(), queue_agent = ${queueAgent(sql.ref("r.agent"))}
          from left_turns l where r.tenant_id = l.tenant_id and r.session_id = l.session_id
          returning r.tenant_id, r.session_id, r.job, r.queue_agent, r.rank, r.owner, r.deaths`.execute(tx);
        const alone = await isolate(tx, rows, new Set(withTool.map(sessionKey)));
        const jobs = rows.flatMap((row) => {
          const delayMs = recoveryDelayMs(row.deaths);
          return toJob(refOf(row), { ...row, alone: alone.has(row) }).map((job) => ({ ...job, delayMs }));
        });
        await queue.add(tx, jobs);
        return rows.length;
      }),
    async wakeDue({ limit }) {
      const due = await db
        .selectFrom("running_turns")
        .select(["tenant_id", "session_id"])
        .where("wake_at", "<=", ago(0))
        .orderBy("wake_at")
        .limit(checkLimit(limit, MAX_BATCH))
        .execute();
      let woken = 0;
      for (const row of due)
        await inTransaction(db, async (tx) => {
          if ((await tryLockSession(tx, refOf(row))) === null) return;
          if (await queueParked(tx, queue, refOf(row))) woken += 1;
        });
      return woken;
    },
    async maintain() {
      const { numUpdatedRows } = await db
        .updateTable("job_maintenance")
        .set({ at: clock })
        .where("at", "<", ago(MAINTENANCE_MS))
        .executeTakeFirst();
      if (numUpdatedRows !== 1n) return;
      await queue.maintain();
      await moveOrphans(db, queue, MAX_BATCH);
    },
    bury: (ref, turn) =>
      inTransaction(db, async (tx) => {
        await lockSessionRow(tx, ref);
        await sql`insert into dead_turns (tenant_id, session_id, turn, agent, deaths)
          select tenant_id, session_id, turn, agent, deaths from running_turns
          where tenant_id = ${ref.tenant} and session_id = ${ref.session} and turn = ${turn}
          on conflict do nothing`.execute(tx);
      }),
    async dead({ limit }) {
      const rows = await db
        .selectFrom("dead_turns as d")
        .innerJoin("sessions as s", (join) =>
          join.onRef("s.tenant_id", "=", "d.tenant_id").onRef("s.id", "=", "d.session_id"),
        )
        .select(["d.tenant_id", "d.session_id", "d.turn", "d.agent", "d.deaths", "d.at", "s.user_id"])
        .orderBy("d.at", "desc")
        .orderBy(bytewiseOrder("d.turn"))
        .limit(checkLimit(limit, MAX_BATCH))
        .execute();
      return rows.map(({ turn, agent, deaths, at, user_id: user, ...row }) => {
        return { ...refOf(row), turn, agent, user, deaths, at };
      });
    },
    async counts() {
      const { rows } = await sql<{ agent: string | null; queued: number; running: number }>`
        select agent, count(*) filter (where not is_running) as queued, count(*) filter (where is_running) as running
        from (
          select queue_agent as agent, false as is_running from waiting_messages where rank is not null
          union all select queue_agent, false from running_turns where rank is not null and executor is null
          union all select queue_agent, true from running_turns where executor is not null) jobs
        group by agent order by ${bytewiseOrder("agent")} nulls first`.execute(db);
      return rows;
    },
  };
}

function leftTurns(db: Db, executor: string, limit: number) {
  return db
    .selectFrom("running_turns")
    .select(["tenant_id", "session_id", "turn"])
    .where("executor", "=", executor)
    .orderBy("tenant_id")
    .orderBy("session_id")
    .limit(checkLimit(limit, MAX_BATCH));
}

type CountedRow = ReturnedRow & { readonly deaths: number };

/** Records how suspected the recovered turns are, and which of them run alone. Returns the latter. */
async function isolate(
  tx: Db,
  rows: readonly CountedRow[],
  withTool: ReadonlySet<string>,
): Promise<Set<CountedRow>> {
  const suspects = rows
    .map((row) => ({
      row,
      deaths: row.deaths,
      suspicion: suspicionOf(row.deaths, withTool.has(sessionKey(refOf(row)))),
    }))
    .filter(({ suspicion }) => suspicion >= MIN_SUSPICION);
  if (suspects.length === 0) return new Set();
  // More rows than a batch change nothing.
  const { rows: others } = await sql<{ suspicion: number }>`
    select suspicion from running_turns where ${IS_SUSPECTED}
    order by suspicion desc limit ${MAX_BATCH}`.execute(tx);
  const suspicions = [...others, ...suspects].map(({ suspicion }) => suspicion);
  const alone = new Set(suspects.filter((turn) => mustRunAlone(turn, suspicions)).map(({ row }) => row));
  await sql`update running_turns r set suspicion = named.suspicion, alone = named.alone from unnest(
      ${suspects.map(({ row }) => row.tenant_id)}::text[], ${suspects.map(({ row }) => row.session_id)}::text[],
      ${suspects.map(({ suspicion }) => suspicion)}::smallint[], ${suspects.map(({ row }) => alone.has(row))}::boolean[]
    ) named(tenant, session, suspicion, alone)
    where r.tenant_id = named.tenant and r.session_id = named.session`.execute(tx);
  return alone;
}

function refOf(row: { readonly tenant_id: string; readonly session_id: string }) {
  return { tenant: row.tenant_id, session: row.session_id };
}

/** Returns the ids of those jobs whose turn still belongs to the process that started it. */
async function startedJobs(db: Db, jobs: readonly TurnJob[]): Promise<Set<string>> {
  const { rows } = await sql<{ job: string }>`
    select r.job from ${named(jobs)} cross join lateral (
      select job from running_turns r where r.tenant_id = named.tenant and r.session_id = named.session
        and r.job = named.id and r.executor is not null limit 1) r`.execute(db);
  return new Set(rows.map(({ job }) => job));
}

function named(jobs: readonly TurnJob[]) {
  return sql`unnest(${jobs.map(({ tenant }) => tenant)}::text[], ${jobs.map(({ session }) => session)}::text[],
    ${jobs.map(({ id }) => id)}::uuid[]) named(tenant, session, id)`;
}
