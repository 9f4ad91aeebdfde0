/**
 * `TurnQueue` is the part of the store that decides which process runs the turn of a session, and `postgresTurnQueue`
 * its implementation: one narrow row per session in `turn_queue`, with its epoch, and whether a turn is queued, runs in
 * a process, or waits for a user. The rows of `running_turns` have what a turn is about.
 *
 * Invariant: a session has at most one turn, and at most one process runs it, which has a lease. Each change of a turn
 * that runs is compared with its process and its epoch, so a command that arrives late changes nothing:
 *
 *   `queuedMessages.add`, `retry`              queue a turn if the session has none
 *   `start`                                    makes a process run it, under a new epoch
 *   `again`                                    the next attempt of that process, under a new epoch
 *   `release`, `leave`, `recover`              queue it again, because its process leaves or died
 *   `park`                                     leaves it to a user, without a process
 *   `wake`, `requestStop`, a passed `wakeAt`   queue a turn that waits for a user
 *   `end`                                      ends it, and queues the turn of the next message
 *   erasure of the session                     deletes its row
 *
 * Turns are started by rank, the lowest first. The rank of a new turn is at least the one up to which turns were
 * started, so ranks grow with the work that is done, and no queued turn is overtaken for ever.
 *
 * Whatever starts, parks, wakes or ends a turn, or queues or removes a message, locks the session's row of `turn_queue`
 * before rows of `running_turns` and `waiting_messages`, and never the session after it. `start` and `recover` skip
 * rows that are locked, so they wait for nobody. A statement that had to wait for a row sees the row as it is then, but
 * chooses rows, and reads other tables, as they were when it started. So it locks the row by its key alone before it
 * looks whether it may change it, and `start` leaves a row queued whose message or turn it can't see.
 */
import type { Json } from "@turnstream/protocol";
import { sql, type RawBuilder } from "kysely";
import type { Env } from "../util/env.ts";
import { stringField } from "../util/json.ts";
import { isId } from "../util/names.ts";
import type { SessionRef } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import {
  clock,
  clockPlus,
  inTransaction,
  ago,
  ofSession,
  bytewiseOrder,
  lockSession,
  sessionNotFound,
} from "./database/session-row.ts";
import { checkFence } from "./journal.ts";
import { checkId, checkCount, checkDuration, checkLimit, MAX_BATCH, checkTime } from "./rules/arguments.ts";
import {
  type RunningTurn,
  type TurnCaller,
  checkOptions,
  checkTurnCaller,
  type TurnRow,
  countedAttempt,
  turnOf,
  runningTurn,
} from "./running-turn.ts";

/** A turn that a process runs. The process changes `epoch` when it takes a new one. */
export interface HeldTurn extends SessionRef {
  readonly executor: string;
  epoch: number;
}

export interface StartedTurn {
  readonly held: HeldTurn;
  readonly row: RunningTurn;
  /** True if the process must start no other turn while it runs this one. */
  readonly isAlone: boolean;
}

export interface StartTurns {
  /** The process that will run the turns. */
  readonly executor: string;
  /** Start turns of these agents only, of messages that name no agent, and of agents that no process has registered. */
  readonly agents: readonly string[];
  /** How many at most. */
  readonly limit: number;
  /** Leave the turns of these tenants to others, because they use their share of this process. @default none */
  readonly skipTenants?: readonly string[];
  /** True if the process runs no turn. Only then it gets a turn during which processes died, and no other with it. */
  readonly isIdle: boolean;
}

/** The request to answer the message of an earlier turn again. */
export interface TurnRetry extends Partial<TurnCaller> {
  readonly turn: string;
  readonly retries: string;
  /** See `RunningTurn`. */
  readonly options?: Json;
}

/** A turn that was ended because of its deaths, for operators. */
export interface DeadTurn extends SessionRef {
  readonly turn: string;
  readonly agent: string | null;
  readonly user: string;
  readonly deaths: number;
  readonly at: number;
}

/**
 * - "over": that turn isn't running.
 * - "ended": it was removed.
 * - `queuedFor`: it was removed, and the turn of the next message is queued for this agent, or for all for null.
 */
export type EndReceipt = "over" | "ended" | { readonly queuedFor: string | null };

/** From this many deaths on, the turns with the most deaths of all run only in a process that runs no other. */
export const DEATHS_BEFORE_ALONE = 2;

/** A turn that waits this long for such a process runs beside others. */
export const MAX_ALONE_WAIT_MS = 60_000;

/** After this many deaths, a turn isn't run again. It ends with an error, and an operator can restart it. */
export const MAX_DEATHS = 5;

export interface TurnQueue {
  /**
   * Makes the caller run queued turns, and counts an attempt of each. The order is fair: tenants take turns, and so do
   * the users of a tenant, over all processes. A caller without a lease, or whose lease has expired, gets none.
   */
  start(request: StartTurns): Promise<StartedTurn[]>;
  /**
   * Starts the next attempt at a turn that the caller runs. Sets the epoch of `held`.
   * @param options.seen the highest epoch in which the log was seen. @default 0
   * @param options.isCounted false if it doesn't count as an attempt. @default true
   * @returns null if the caller no longer runs the turn
   */
  again(
    held: HeldTurn,
    options?: { readonly seen?: number; readonly isCounted?: boolean },
  ): Promise<RunningTurn | null>;
  /** Returns the turns that a process runs according to the store. At most 10,000. */
  held(executor: string): Promise<HeldTurn[]>;
  /** Queues turns again, for example when the process shuts down. Other processes can start them after the delay. */
  release(turns: readonly HeldTurn[], options?: { readonly delayMs?: number }): Promise<void>;
  /**
   * Queues at most `limit` turns of a dead process again, and counts a death for each. The delay grows with the deaths of
   * a turn.
   * @returns how many; fewer than `limit` if none is left
   */
  recover(executor: string, query: { readonly limit: number }): Promise<number>;
  /**
   * Ends the lease of a process, and queues all turns again that it still has, without a death. Returns false and changes
   * nothing if it no longer has the lease: then its turns are recovered.
   */
  leave(executor: string): Promise<boolean>;
  /**
   * Leaves a turn that waits for a user, so that no process has to wait with it, and excludes its attempt from
   * `attemptsWithoutProgress`. Returns false if the caller no longer runs it. The session is locked afterwards: read the
   * decisions in the same transaction, and call `wake` if there is one.
   */
  park(held: HeldTurn, turn: string, options: { readonly wakeAt: number | null }): Promise<boolean>;
  /** Queues the turn of a session if it waits for a user. Decisions call it in their transaction. Returns whether it did. */
  wake(ref: SessionRef): Promise<boolean>;
  /** Queues turns that wait for a user and whose wake-up time has passed. Returns how many. */
  wakeDue(query: { readonly limit: number }): Promise<number>;
  /**
   * Queues a turn that retries an earlier one, before queued messages. Returns null if the session has a turn.
   * @throws StoreError with NOT_FOUND if the session does not exist.
   */
  retry(ref: SessionRef, retry: TurnRetry): Promise<RunningTurn | null>;
  /**
   * Removes a turn after its end was written to the log.
   * @param options.epoch the epoch that the caller has claimed
   * @param options.executor the process of the caller. @default any
   * @throws StoreError with FENCED if a higher epoch was issued since, or if the process doesn't run the turn under this one
   */
  end(
    ref: SessionRef,
    turn: string,
    options?: { readonly epoch?: number; readonly executor?: string },
  ): Promise<EndReceipt>;
  /** Records a turn that ended because of its deaths. Joins the transaction of `end`. */
  bury(ref: SessionRef, turn: string): Promise<void>;
  /** Returns buried turns, the newest first. */
  dead(query: { readonly limit: number }): Promise<DeadTurn[]>;
}

export function checkRetry({ turn, retries, options, ...caller }: TurnRetry) {
  return {
    turn: checkId(turn, "turn"),
    retries: checkId(retries, "retries"),
    options: checkOptions(options),
    ...checkTurnCaller(caller),
  };
}

/**
 * Returns how much higher the epoch of an attempt is than the one before. It is random, so that a database that has lost
 * commits doesn't issue a lost epoch again, and small enough that an epoch never needs more than the 15 digits of a cursor.
 */
export function epochStep(env: Pick<Env, "randomBytes">): number {
  const bytes = env.randomBytes(2);
  return 1 + new DataView(bytes.buffer, bytes.byteOffset, 2).getUint16(0);
}

/** Returns the agent that the options name, or null. */
export function agentOf(options: Json | undefined): string | null {
  const agent = stringField(options ?? null, "agent");
  return agent !== null && isId(agent) ? agent : null;
}

/** More than a process can run. */
const MAX_HELD = 10_000;

export function postgresTurnQueue(db: Db, env: Env): TurnQueue {
  return {
    start: (request) => start(db, env, request),
    async again(held, { seen = 0, isCounted = true } = {}) {
      const { rows } = await sql<TurnRow & { epoch: number }>`
        with owned as (
          update turn_queue q set epoch = greatest(epoch, ${checkCount(seen, "seen")}::bigint) + ${epochStep(env)}::integer
          where ${isHeld(held)} returning q.*)
        update running_turns set ${isCounted ? countedAttempt : sql`attempts = attempts`} from owned
        where running_turns.tenant_id = owned.tenant_id and running_turns.session_id = owned.session_id
        returning running_turns.*, owned.owner, owned.deaths, owned.epoch`.execute(db);
      const [row] = rows;
      if (row === undefined) return null;
      held.epoch = row.epoch;
      return turnOf(row);
    },
    async held(executor) {
      const rows = await db
        .selectFrom("turn_queue")
        .select(["tenant_id as tenant", "session_id as session", "epoch"])
        .where("executor", "=", executor)
        .limit(MAX_HELD)
        .execute();
      return rows.map((row) => ({ ...row, executor }));
    },
    async release(turns, { delayMs = 0 } = {}) {
      const delay = checkDuration(delayMs, "delayMs");
      if (turns.length === 0) return;
      await sql`
        update turn_queue q set executor = null, queued_at = ${clock},
          due_at = case when ${delay} > 0 then ${clockPlus(delay)} end
        from unnest(${turns.map(({ tenant }) => tenant)}::text[], ${turns.map(({ session }) => session)}::text[],
          ${turns.map(({ executor }) => executor)}::text[], ${turns.map(({ epoch }) => epoch)}::bigint[]
        ) named(tenant, session, executor, epoch)
        where q.tenant_id = named.tenant and q.session_id = named.session
          and q.executor = named.executor and q.epoch = named.epoch`.execute(db);
    },
    async recover(executor, { limit }) {
      const { numAffectedRows } = await sql`
        with left_turns as (
          select tenant_id, session_id from turn_queue where executor = ${executor}
          order by tenant_id, session_id limit ${checkLimit(limit, MAX_BATCH)} for no key update skip locked)
        update turn_queue q set executor = null, deaths = deaths + 1, queued_at = ${clock},
          -- The first death costs no time: usually the process died for another reason.
          due_at = case when deaths > 0 then ${clock} + least(64, 2 ^ (deaths - 1)) * interval '1 second' end
        from left_turns l where q.tenant_id = l.tenant_id and q.session_id = l.session_id`.execute(db);
      return Number(numAffectedRows ?? 0n);
    },
    leave: (executor) =>
      inTransaction(db, async (tx) => {
        // First: after it, no start of this process takes anything, so the next statement sees all that it has.
        const { numDeletedRows } = await tx
          .deleteFrom("leases")
          .where("executor", "=", executor)
          .where("taken_by", "is", null)
          .executeTakeFirst();
        if (numDeletedRows === 0n) return false;
        await tx
          .updateTable("turn_queue")
          .set({ executor: null, queued_at: clock })
          .where("executor", "=", executor)
          .execute();
        return true;
      }),
    park: (held, turn, { wakeAt }) =>
      inTransaction(db, async (tx) => {
        const time = wakeAt === null ? null : new Date(checkTime(wakeAt, "wakeAt"));
        const { rows } = await sql<{ stop_at: number | null }>`
          with parked as (
            update turn_queue set executor = null, rank = null where ${isHeld(held)} and turn = ${turn} returning *)
          update running_turns r set parked_at = ${clock}, wake_at = ${time}, fruitless = greatest(fruitless - 1, 0)
          from parked where r.tenant_id = parked.tenant_id and r.session_id = parked.session_id
          returning r.stop_at`.execute(tx);
        const [row] = rows;
        if (row !== undefined && row.stop_at !== null) await wake(tx, held);
        return row !== undefined;
      }),
    wake: (ref) => wake(db, ref),
    async wakeDue({ limit }) {
      const due = await db
        .selectFrom("running_turns")
        .select(["tenant_id as tenant", "session_id as session"])
        .where("wake_at", "<=", ago(0))
        .orderBy("wake_at")
        .limit(checkLimit(limit, MAX_BATCH))
        .execute();
      let woken = 0;
      for (const ref of due) if (await wake(db, ref)) woken += 1;
      return woken;
    },
    retry: (ref, given) =>
      inTransaction(db, async (tx) => {
        const { turn, retries, options, apiKey, usageLimits } = checkRetry(given);
        if ((await lockTurn(tx, ref)).turn !== null) return null;
        await sql`
          with queued as (
            update turn_queue set turn = ${turn}, next_message = null, ${queued(sql`${agentOf(given.options)}::text`)}
            where ${of(ref)} returning *)
          insert into running_turns (tenant_id, session_id, turn, retries, options, owner, key_id, usage_limits)
          select tenant_id, session_id, ${turn}, ${retries}, ${options}::json, owner, ${apiKey}, ${usageLimits}::json
          from queued`.execute(tx);
        await ofSession(tx.deleteFrom("dead_turns"), ref).where("turn", "=", retries).execute();
        const row = await runningTurn(tx, ref).executeTakeFirst();
        return row === undefined ? null : turnOf(row);
      }),
    end: (ref, turn, { epoch = Infinity, executor = null } = {}) =>
      inTransaction(db, async (tx) => {
        const row = await tryLockTurn(tx, ref);
        // The first try may have ended it, and its answer was lost.
        if (row === null || row.turn === null) return "over";
        checkFence(ref, row, { epoch, executor });
        return row.turn === turn ? endTurn(tx, ref) : "over";
      }),
    async bury(ref, turn) {
      await sql`insert into dead_turns (tenant_id, session_id, turn, agent, deaths)
        select tenant_id, session_id, turn, agent, deaths from turn_queue where ${of(ref)} and turn = ${turn}
        on conflict do nothing`.execute(db);
    },
    async dead({ limit }) {
      const { rows } = await sql<DeadTurn>`
        select d.tenant_id as tenant, d.session_id as session, s.user_id as user, d.turn, d.agent, d.deaths, d.at
        from dead_turns d join sessions s on s.tenant_id = d.tenant_id and s.id = d.session_id
        order by d.at desc, ${bytewiseOrder("d.turn")} limit ${checkLimit(limit, MAX_BATCH)}`.execute(db);
      return rows;
    },
  };
}

function of({ tenant, session }: SessionRef) {
  return sql<boolean>`tenant_id = ${tenant} and session_id = ${session}`;
}

/** True for the row of a turn that its process still runs. */
function isHeld({ executor, epoch, ...ref }: HeldTurn) {
  return sql<boolean>`${of(ref)} and executor = ${executor} and epoch = ${epoch}::bigint and turn is not null`;
}

/** Sets the columns of a row whose turn can be started at once, with a new rank unless it has one. */
export function queued(agent: RawBuilder<string | null>) {
  return sql`agent = ${agent}, queued_at = ${clock}, due_at = null,
    rank = coalesce(turn_queue.rank, next_rank(turn_queue.tenant_id, turn_queue.owner))`;
}

export interface LockedTurn {
  readonly epoch: number;
  readonly executor: string | null;
  readonly turn: string | null;
  readonly next_message: number | null;
}

/**
 * Locks the session and then its row here, until the transaction ends. The statements that follow see all that earlier
 * holders wrote.
 */
export async function lockTurn(tx: Db, ref: SessionRef): Promise<LockedTurn> {
  await lockSession(tx, ref);
  const row = await tryLockTurn(tx, ref);
  if (row === null) throw sessionNotFound(ref);
  return row;
}

/** Like `lockTurn`, without the session. Returns null if there is none. */
export async function tryLockTurn(tx: Db, ref: SessionRef): Promise<LockedTurn | null> {
  const row = await ofSession(tx.selectFrom("turn_queue"), ref)
    .select(["epoch", "executor", "turn", "next_message"])
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row ?? null;
}

/** Locks the rows of sessions of a tenant before their messages change. The caller has locked the sessions. */
export async function lockTurns(tx: Db, tenant: string, sessions: readonly string[]): Promise<void> {
  await tx
    .selectFrom("turn_queue")
    .select("session_id")
    .where("tenant_id", "=", tenant)
    .where("session_id", "=", sql<string>`any(${[...sessions]}::text[])`)
    .orderBy(bytewiseOrder("session_id"))
    .forUpdate()
    .execute();
}

/**
 * One statement. The suspected turns are those with the most deaths of all, at least two. An idle process gets one of them
 * alone, the newest first: what ended a process had usually just begun. When it dies again, the others are suspected no
 * more. Of the rows that the statement locks, it takes those whose message or turn it can see; see the invariant above. It
 * takes none unless it could lock the lease of the process: if it is executed after the process has left or was taken over,
 * nobody would run them.
 */
async function start(db: Db, env: Env, { executor, agents, limit, skipTenants = [], isIdle }: StartTurns) {
  const most = checkLimit(limit, MAX_BATCH);
  const by = checkId(executor, "executor");
  const ids = Array.from({ length: most }, () => env.id());
  const isStartable = sql<boolean>`q.executor is null and q.rank is not null
    and (q.due_at is null or q.due_at <= ${ago(0)})
    and (q.agent is null or q.agent = any(${[...agents]}::text[])
      or not exists (select from agents where name = q.agent))
    and q.tenant_id <> all(${[...skipTenants]}::text[])`;
  const { rows } = await sql<TurnRow & { epoch: number; is_alone: boolean }>`
    with bar as materialized (
      select greatest(${DEATHS_BEFORE_ALONE}, max(deaths)) as deaths from turn_queue where deaths > 0),
    suspect as materialized (
      select q.tenant_id, q.session_id, q.owner, q.turn, q.next_message, q.rank from turn_queue q, bar
      where ${isIdle}::boolean and q.deaths > 0 and q.deaths >= bar.deaths and ${isStartable}
      order by q.rank desc limit 1 for no key update of q skip locked),
    picked as materialized (
      select q.tenant_id, q.session_id, q.owner, q.turn, q.next_message, q.rank from turn_queue q, bar
      where ${isStartable} and not exists (select from suspect)
        and (q.deaths < bar.deaths or (not ${isIdle}::boolean and q.queued_at <= ${ago(MAX_ALONE_WAIT_MS)}))
      order by q.rank limit ${most} for no key update of q skip locked),
    chosen as materialized (select * from suspect union all select * from picked),
    -- Only if there is something to start, because a lock is a write.
    alive as materialized (
      select l.executor from (select from chosen limit 1) one
      join leases l on l.executor = ${by} and l.taken_by is null and l.until >= ${clock} for share of l),
    ranked as (
      select *, (${ids}::text[])[row_number() over (order by rank, tenant_id, session_id)] as new_turn
      from chosen where exists (select from alive)),
    messages as (
      select r.new_turn, w.* from ranked r join waiting_messages w
        on w.tenant_id = r.tenant_id and w.session_id = r.session_id and w.n = r.next_message
      where r.turn is null and w.body is not null),
    ready as (
      select r.* from ranked r left join messages m on m.new_turn = r.new_turn
      -- By its key: the limit keeps the planner from reading the whole table.
      left join lateral (select true as is_there from running_turns t
        where t.tenant_id = r.tenant_id and t.session_id = r.session_id and t.turn = r.turn limit 1) t on true
      where m.id is not null or t.is_there),
    owned as (
      update turn_queue q set executor = ${by}, epoch = q.epoch + ${epochStep(env)}::integer, due_at = null, next_message = null,
        turn = coalesce(r.turn, r.new_turn)
      from ready r where q.tenant_id = r.tenant_id and q.session_id = r.session_id
      returning q.*, r.turn is null as is_new),
    settled as (
      update waiting_messages w set body = null, by_user = null, options = null, usage_limits = null
      from messages m join owned on owned.turn = m.new_turn and is_new
      where w.tenant_id = m.tenant_id and w.session_id = m.session_id and w.id = m.id),
    taken as (
      insert into running_turns (tenant_id, session_id, turn, message_id, message, message_by, message_at, options,
        owner, key_id, usage_limits, attempts, fruitless)
      select m.tenant_id, m.session_id, m.new_turn, m.id, m.body, m.by_user, m.added_at, m.options, m.owner, m.key_id,
        m.usage_limits, 1, 1
      from messages m join owned on owned.turn = m.new_turn and is_new
      returning *),
    continued as (
      update running_turns set parked_at = null, wake_at = null, ${countedAttempt}
      from owned where running_turns.tenant_id = owned.tenant_id and running_turns.session_id = owned.session_id
        and running_turns.turn = owned.turn and not is_new
      returning running_turns.*)
    select t.*, owned.owner, owned.deaths, owned.epoch, exists (select from suspect) as is_alone
    from owned join (select * from taken union all select * from continued) t
      on t.tenant_id = owned.tenant_id and t.session_id = owned.session_id
    order by owned.rank`.execute(db);
  return rows.map((row) => ({
    held: { tenant: row.tenant_id, session: row.session_id, executor: by, epoch: row.epoch },
    row: turnOf(row),
    isAlone: row.is_alone,
  }));
}

/** Queues the turn of a session if it waits for a user. */
export async function wake(db: Db, { tenant, session }: SessionRef): Promise<boolean> {
  const { numAffectedRows } = await sql`
    with locked as materialized (
      select * from turn_queue where tenant_id = ${tenant} and session_id = ${session} for no key update),
    parked as (
      select tenant_id, session_id from locked where turn is not null and executor is null and rank is null),
    cleared as (
      update running_turns r set wake_at = null from parked p
      where r.tenant_id = p.tenant_id and r.session_id = p.session_id)
    update turn_queue set ${queued(sql`turn_queue.agent`)} from parked p
    where turn_queue.tenant_id = p.tenant_id and turn_queue.session_id = p.session_id`.execute(db);
  return numAffectedRows === 1n;
}

/** The caller has locked the row. */
async function endTurn(tx: Db, ref: SessionRef): Promise<EndReceipt> {
  await ofSession(tx.deleteFrom("running_turns"), ref).execute();
  const { rows } = await queueNext(tx, ref, sql`null::bigint`);
  const [next] = rows;
  return next === undefined || next.next_message === null ? "ended" : { queuedFor: next.agent };
}

/**
 * Queues the turn of the oldest message, or none if no message waits. The caller has locked the row in a statement before.
 * @param rank the rank that the row keeps
 */
export function queueNext(tx: Db, ref: SessionRef, rank: RawBuilder<unknown>) {
  return sql<{ next_message: number | null; agent: string | null }>`
    update turn_queue set turn = null, executor = null, deaths = 0, due_at = null, queued_at = ${clock},
      next_message = next.n, agent = next.agent,
      rank = case when next.n is not null then coalesce(${rank}, next_rank(turn_queue.tenant_id, turn_queue.owner)) end
    from (select 1) one left join lateral (
      select n, agent from waiting_messages where ${of(ref)} and body is not null order by n limit 1) next on true
    where ${of(ref)} returning next_message, turn_queue.agent`.execute(tx);
}
