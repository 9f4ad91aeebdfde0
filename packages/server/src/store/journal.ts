/**
 * `Journal` is the part of the store for the steps of a running turn, `postgresJournal` its implementation, and
 * `checkJournalEntries` prepares entries.
 *
 * Invariant: a write is one statement that locks the session's row of `turn_queue`, compares its epoch and adds the
 * entries, and fails with FENCED for a superseded worker. Archiving takes the same lock, so both fit into one
 * transaction in any order. A value above its limit fails with TOO_LARGE and is never truncated.
 */
import type { Json } from "@turnstream/protocol";
import { sql } from "kysely";
import type { SessionRef } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import { ofSession, periodOf, sessionNotFound } from "./database/session-row.ts";
import { StoreError } from "./errors.ts";
import { checkId, checkCount, checkJson } from "./rules/arguments.ts";
import { COST_UNIT } from "./rules/limits.ts";
import { MAX_USAGE } from "./usage.ts";

/** One result of a running turn. */
export interface JournalEntry {
  readonly key: string;
  readonly value: Json;
}

export interface NewJournalEntry extends JournalEntry {
  readonly turn: string;
  /** The epoch that the writer has claimed. */
  readonly epoch: number;
  /** The process of the writer. It must run the turn, under this epoch. @default any, under this epoch or a lower one */
  readonly executor?: string;
  /** Keys of entries that the writer knows: a store that has lost one refuses the write. @default none */
  readonly after?: readonly string[];
  /**
   * True if the entry outlives the turn and stays as long as the session. Later turns use it to describe this turn to
   * the model.
   */
  readonly isRetained?: boolean;
  /** Tokens and cost that the entry adds to those of the running turn, if it is written now. @default none */
  readonly used?: { readonly tokens: number; readonly cost: number };
}

/**
 * The part of the store for the journal: what a running turn has done, by key and not by order. So parallel branches find their
 * own results again, however they interleave.
 *
 * Invariant: entries are written under the session's epoch and by the process that runs the turn, so a superseded worker
 * can't add any. They follow entries that the writer knows, so a store that has lost commits gets no journal with a gap.
 * Writes join a transaction, so that a step and the archive of its events are committed together.
 */
export interface Journal {
  /**
   * Writes entries of one turn under one epoch, in one commit. Returns "already" if the turn has all of these keys; the
   * first value of a key stays. The session's epoch can't change until the transaction ends.
   * @throws StoreError with FENCED if a higher epoch was issued since, even for an existing key, if the writer's process no
   *   longer runs the turn, or if an entry that the writer knows is missing; with NOT_FOUND if the session does not exist.
   */
  write(ref: SessionRef, ...entries: readonly NewJournalEntry[]): Promise<"written" | "already">;
  /** Returns all entries of a turn, in the order of writing. */
  read(ref: SessionRef, turn: string): Promise<JournalEntry[]>;
  /** Returns the retained entries of these turns, in the order of writing. At most 1,000 turns. */
  retained(ref: SessionRef, turns: readonly string[]): Promise<(JournalEntry & { readonly turn: string })[]>;
  /**
   * Deletes the entries of an ended turn, except the retained ones.
   * @param shortened new values of retained entries, for example references to what the archive has
   * @returns how many it deleted
   */
  close(ref: SessionRef, turn: string, shortened?: readonly JournalEntry[]): Promise<number>;
}

/** Larger values belong into a blob. */
const MAX_JOURNAL_BYTES = 16 * 1024 * 1024;

const MAX_RETAINED_TURNS = 1_000;

/** Entries of one turn under one epoch, with their values as JSON. */
export interface CheckedEntries {
  readonly turn: string;
  readonly epoch: number;
  readonly executor: string | null;
  readonly after: readonly string[];
  readonly entries: readonly CheckedEntry[];
}

interface CheckedEntry {
  readonly key: string;
  readonly value: string;
  readonly isRetained: boolean;
  /** The tokens and the cost in millionths that the entry adds, or null. */
  readonly used: { readonly tokens: number; readonly micros: number } | null;
}

/** @returns null if there are none */
export function checkJournalEntries(entries: readonly NewJournalEntry[]): CheckedEntries | null {
  const [first] = entries;
  if (first === undefined) return null;
  const turn = checkId(first.turn, "turn");
  const epoch = checkCount(first.epoch, "epoch");
  const executor = first.executor === undefined ? null : checkId(first.executor, "executor");
  const isOther = (entry: NewJournalEntry): boolean =>
    entry.turn !== turn || entry.epoch !== epoch || entry.executor !== first.executor;
  if (entries.some(isOther))
    throw new StoreError(
      "INVALID",
      "journal entries that are written together must have one turn, one epoch and one executor",
    );
  const after = entries.flatMap((entry) => entry.after ?? []).map((key) => checkId(key, "journal key"));
  return { turn, epoch, executor, after: [...new Set(after)], entries: entries.map(checkJournalEntry) };
}

/** The epoch and the process of a session, as they are or as a caller knows them. */
interface Fence {
  readonly epoch: number;
  readonly executor: string | null;
}

/**
 * @param caller its process is null if any may be the caller
 * @throws StoreError with FENCED if a higher epoch than that of the caller was issued, or if the process of the caller
 *   doesn't run the turn under its epoch
 */
export function checkFence(ref: SessionRef, current: Fence, { epoch, executor }: Fence): void {
  const isRefused =
    executor === null ? current.epoch > epoch : current.executor !== executor || current.epoch !== epoch;
  if (isRefused) throw fencedError(ref, epoch);
}

export function fencedError({ session }: SessionRef, epoch: number): StoreError {
  return new StoreError("FENCED", `session ${session}, epoch ${epoch}`);
}

/** @returns the keys and the new values as JSON */
export function checkShortened(
  entries: readonly JournalEntry[],
): readonly Pick<CheckedEntry, "key" | "value">[] {
  return entries.map(({ key, value }) => ({
    key: checkId(key, "journal key"),
    value: checkJson(value, "journal value", MAX_JOURNAL_BYTES),
  }));
}

function checkJournalEntry({ key, value, isRetained = false, used }: NewJournalEntry): CheckedEntry {
  return {
    key: checkId(key, "journal key"),
    value: checkJson(value, "journal value", MAX_JOURNAL_BYTES),
    isRetained,
    used:
      used === undefined
        ? null
        : {
            tokens: checkCount(used.tokens, "journal used tokens"),
            micros: checkCount(Math.round(used.cost * COST_UNIT), "journal used cost in millionths"),
          },
  };
}

export function checkRetainedTurns(turns: readonly string[]): readonly string[] {
  if (turns.length <= MAX_RETAINED_TURNS) return turns;
  throw new StoreError("INVALID", `turns must have at most ${MAX_RETAINED_TURNS} elements`);
}

export function postgresJournal(db: Db): Journal {
  const rowsOf = (ref: SessionRef) =>
    ofSession(db.selectFrom("turn_journal"), ref).where("period", "=", periodOf(ref)).orderBy("n");
  return {
    write: async (ref, ...entries) => ((await writeJournal(db, ref, entries)) > 0 ? "written" : "already"),
    read: (ref, turn) => rowsOf(ref).select(["key", "value"]).where("turn", "=", turn).execute(),
    retained: (ref, turns) =>
      rowsOf(ref)
        .select(["turn", "key", "value"])
        .where("turn", "=", sql<string>`any(${[...checkRetainedTurns(turns)]}::text[])`)
        .where("kept", "=", true)
        .execute(),
    async close(ref, turn, shortened = []) {
      const entries = checkShortened(shortened);
      const of = sql`j.tenant_id = held.tenant_id and j.session_id = held.id and j.period = p and j.turn = ${turn}`;
      // An erasure waits for the session's row here, and not for a row of the journal.
      const { numAffectedRows } = await sql`
        with held as materialized (
          select tenant_id, id from sessions where tenant_id = ${ref.tenant} and id = ${ref.session} for key share
        ) ${
          entries.length === 0
            ? sql``
            : sql`, shortened as (
          update turn_journal j set value = short.value
          from held, ${periodOf(ref)} as p, unnest(
            ${entries.map(({ key }) => key)}::text[], ${entries.map(({ value }) => value)}::json[]
          ) short(key, value)
          where ${of} and kept and j.key = short.key
        )`
        }
        delete from turn_journal j using held, ${periodOf(ref)} as p where ${of} and not kept`.execute(db);
      return Number(numAffectedRows ?? 0n);
    },
  };
}

/** Adds the entries of a turn, with the session's row of `turn_queue` locked, in one statement. @returns how many are new */
export async function writeJournal(
  db: Db,
  ref: SessionRef,
  given: readonly NewJournalEntry[],
): Promise<number> {
  const entries = checkJournalEntries(given);
  if (entries === null) return 0;
  // After waiting for the lock, the statement sees the current epoch, not the one from its start.
  const { rows } = await sql<{ is_allowed: boolean; added: number }>`
    with held as materialized (
      select q.tenant_id, q.session_id as id, s.period, q.epoch, q.executor from turn_queue q
      join sessions s on s.tenant_id = q.tenant_id and s.id = q.session_id
      where q.tenant_id = ${ref.tenant} and q.session_id = ${ref.session} for no key update of q
    ), allowed as materialized (
      select tenant_id, id, period from held where ${isCurrent(ref, entries)}
    ) ${journaled(entries, sql`select * from allowed`)}
    select exists (select from allowed) as is_allowed, (select count(*) from journaled)::int as added from held`.execute(
    db,
  );
  const [row] = rows;
  if (row === undefined) throw sessionNotFound(ref);
  if (!row.is_allowed) throw fencedError(ref, entries.epoch);
  return row.added;
}

/** A condition on `held`: the writer may add the entries. What it knows was committed before this statement started. */
export function isCurrent(ref: SessionRef, { turn, epoch, executor, after }: CheckedEntries) {
  const isHeld =
    executor === null
      ? sql<boolean>`epoch <= ${epoch}::bigint`
      : sql<boolean>`executor = ${executor} and epoch = ${epoch}::bigint`;
  if (after.length === 0) return isHeld;
  return sql<boolean>`${isHeld} and not exists (
      select from ${periodOf(ref)} as p, unnest(${[...after]}::text[]) known(key) where not exists (
        select from turn_journal j where j.tenant_id = held.tenant_id and j.session_id = held.id
          and j.period = p and j.turn = ${turn}::text and j.key = known.key))`;
}

/** Three more parts of a statement: the new entries, and what they add to the usage and progress of the running turn. */
export function journaled({ turn, entries }: CheckedEntries, session: ReturnType<typeof sql>) {
  return sql`, journaled as (
      insert into turn_journal (tenant_id, session_id, period, turn, key, value, kept)
      select s.tenant_id, s.id, s.period, ${turn}::text, e.* from (${session}) s, unnest(
        ${entries.map(({ key }) => key)}::text[],
        ${entries.map(({ value }) => value)}::json[],
        ${entries.map(({ isRetained }) => isRetained)}::boolean[]
      ) e
      on conflict (tenant_id, session_id, period, turn, key) do nothing
      returning tenant_id, session_id, key
    ), used as (
      select tenant_id, session_id, sum(tokens)::bigint as tokens, sum(micros)::bigint as micros
      from journaled join unnest(
        ${entries.map(({ key }) => key)}::text[],
        ${entries.map(({ used }) => used?.tokens ?? 0)}::bigint[],
        ${entries.map(({ used }) => used?.micros ?? 0)}::bigint[]
      ) u(key, tokens, micros) using (key)
      group by 1, 2
    ), counted as (
      update running_turns set
        fruitless = 0,
        used_tokens = least(used_tokens + used.tokens, ${MAX_USAGE}::bigint),
        used_micros = least(used_micros + used.micros, ${MAX_USAGE}::bigint)
      from used
      where running_turns.tenant_id = used.tenant_id and running_turns.session_id = used.session_id
        and turn = ${turn}::text and (fruitless > 0 or used.tokens > 0 or used.micros > 0)
    )`;
}
