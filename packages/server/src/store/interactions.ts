/**
 * `Interactions` is the part of the store for requests to a user: approvals, questions, forms and what features add.
 * `postgresInteractions` is its implementation.
 *
 * Invariant: each interaction is a durable state machine, with the rules of `rules/interactions.ts`, which `mayBecome`
 * has too. A change is one conditional UPDATE, compared with the database's clock, and its record is written in the
 * same statement, so no decision depends on an earlier read. The store does not publish changes: add the event to the
 * outbox in the same transaction. The pending statuses in `list` match the protocol and the index
 * `interactions_pending`.
 */
import type { Json } from "@turnstream/protocol";
import { sql, type SqlBool, type Selectable } from "kysely";
import type { SessionRef } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import type { LedgerTables } from "./database/schema-ledger.ts";
import {
  ofSession,
  requireSession,
  inTransaction,
  ago,
  rowOf,
  clockPlus,
  clock,
} from "./database/session-row.ts";
import { StoreError } from "./errors.ts";
import { checkIds, checkCount, checkDuration, checkPage } from "./rules/arguments.ts";
import {
  type InteractionKind,
  type TransitionInput,
  type TransitionErrorCode,
  USER_DECIDED,
  allowedFrom,
  deadlineRule,
  transitionError,
} from "./rules/interactions.ts";

export interface InteractionRequest {
  readonly id: string;
  readonly kind: InteractionKind;
  readonly turn: string;
  readonly run: string;
  readonly block: string;
  readonly index: number;
  /** The name that users and commands use for it, unique in the session. @default id */
  readonly key?: string;
  readonly call?: string;
  /** The content that is shown to the user. */
  readonly request: Json;
  /** Binds the decision to the shown content. */
  readonly digest?: string;
  /** JSON Schema for edited arguments. Not stored if it is larger than 64 kB. */
  readonly schema?: Json;
  /** Milliseconds from now, by the database's clock. */
  readonly deadlineMs?: number;
}

export interface Interaction {
  readonly tenant: string;
  readonly session: string;
  readonly id: string;
  /** Increases with every request in the store. Pages are ordered by it. */
  readonly n: number;
  readonly kind: InteractionKind;
  readonly key: string;
  readonly turn: string;
  readonly run: string;
  readonly block: string;
  readonly index: number;
  readonly call: string | null;
  readonly request: Json;
  readonly digest: string | null;
  readonly deadline: number | null;
  readonly status: string;
  /** 0 for the request; every change adds 1. */
  readonly version: number;
  readonly requestedAt: number;
  readonly changedAt: number | null;
}

export interface InteractionChange {
  readonly version: number;
  readonly status: string;
  readonly by: string | null;
  readonly reason: string | null;
  readonly body: Json;
  readonly at: number;
}

export interface TransitionRequest extends TransitionInput {
  readonly id: string;
  readonly by?: string;
  readonly reason?: string;
  /** The decision: edited actions, answers or values. */
  readonly body?: Json;
}

export type TransitionResult =
  | {
      readonly applied: true;
      readonly version: number;
      readonly interaction: Interaction;
      readonly change: InteractionChange;
    }
  | {
      readonly applied: false;
      readonly reason: TransitionErrorCode;
      readonly current: Interaction;
      /** The change that led to the current status, or null if there was none. */
      readonly change: InteractionChange | null;
      /** When the change was refused, by the store's clock, which also decides about deadlines. */
      readonly at: number;
    };

export interface InteractionPage {
  /** True returns only interactions that can still change. */
  readonly pending?: boolean;
  /** @default all kinds */
  readonly kind?: InteractionKind;
  /** The `n` of the last interaction of the previous page. */
  readonly after?: number;
  /** 1 to 1000. @default 100 */
  readonly limit?: number;
}

export interface Interactions {
  /**
   * Creates a request. Idempotent by id: a repeat returns the stored one and changes nothing.
   * @throws StoreError with EXISTS for another kind, turn, key or digest under the same id, or for another id under the
   *   same key.
   */
  request(
    ref: SessionRef,
    request: InteractionRequest,
  ): Promise<{ readonly created: boolean; readonly interaction: Interaction }>;
  /**
   * Changes the status with one conditional update, which compares status, version, digest and deadline by the
   * database's clock. Of concurrent changes one wins, and a final status never changes. A user's decision loses after
   * the deadline; `timed_out` and `expired` lose before it. The winning change is recorded in the same statement.
   * @throws StoreError with INVALID for a kind that a feature changes together with rows of its own
   */
  change(ref: SessionRef, transition: TransitionRequest): Promise<TransitionResult>;
  get(ref: SessionRef, id: string): Promise<Interaction | null>;
  byKey(ref: SessionRef, key: string): Promise<Interaction | null>;
  /** Returns the JSON Schema of the request, or null if none was stored. */
  schema(ref: SessionRef, id: string): Promise<Json>;
  /** Returns interactions in the order of their requests. */
  list(ref: SessionRef, page?: InteractionPage): Promise<Interaction[]>;
  /**
   * Returns pending forms of all sessions whose deadline has passed by the store's clock, the longest overdue first. A
   * turn waits for every other interaction with a deadline, and ends it.
   */
  overdueForms(query: { readonly limit: number }): Promise<Interaction[]>;
  /** Returns the changes by version, from 1 without gaps. */
  changes(ref: SessionRef, id: string): Promise<InteractionChange[]>;
}

export function ofFeature(kind: InteractionKind): StoreError {
  return new StoreError("INVALID", `a ${kind} interaction is changed by its feature only`);
}

/** Maximum size of a stored schema. Only the worker checks edits against a larger one. */
const MAX_SCHEMA_BYTES = 64_000;

/** @returns the schema as JSON, or null if there is none or it is too large */
export function schemaText({ schema }: InteractionRequest): string | null {
  if (schema === undefined) return null;
  const text = JSON.stringify(schema);
  return Buffer.byteLength(text) > MAX_SCHEMA_BYTES ? null : text;
}

export function checkRequest(request: InteractionRequest): void {
  const { id, key, turn, run, block, call, digest } = request;
  checkIds({ id, key, turn, run, block, call, digest }, "interaction");
  checkCount(request.index, "interaction index");
  checkDuration(request.deadlineMs ?? 0, "interaction deadlineMs");
}

export function checkTransition({ id, to, by, expectDigest, expectVersion }: TransitionRequest): void {
  checkIds({ id, to, by, expectDigest }, "interaction");
  checkCount(expectVersion ?? 0, "interaction expectVersion");
}

/** How often a lost change is retried if it would have won by the time its loss was examined. */
const ATTEMPTS = 3;

export function postgresInteractions(db: Db): Interactions {
  const inSession = (ref: SessionRef) => ofSession(db.selectFrom("interactions"), ref);
  return {
    async request(ref, request) {
      checkRequest(request);
      await requireSession(db, ref);
      const made = await inTransaction(db, (tx) => insert(tx, ref, request));
      if (made !== undefined) return { created: true, interaction: interactionOf(made) };
      const there = await inSession(ref).where("id", "=", request.id).selectAll().executeTakeFirst();
      const same =
        there?.kind === request.kind &&
        there.key === (request.key ?? request.id) &&
        there.turn_id === request.turn &&
        there.digest === (request.digest ?? null);
      if (!same) throw new StoreError("EXISTS", "interaction");
      return { created: false, interaction: interactionOf(there) };
    },

    async change(ref, transition) {
      checkTransition(transition);
      for (let attempt = 1; ; attempt += 1) {
        const result =
          (await win(db, ref, transition)) ?? (await lose(db, ref, transition, attempt === ATTEMPTS));
        if (result === null) continue;
        // A separate statement, so that it also sees a draft that was saved while the change waited.
        if (result.applied && result.interaction.kind === "form")
          await ofSession(db.deleteFrom("form_drafts"), ref)
            .where("interaction_id", "=", transition.id)
            .execute();
        return result;
      }
    },

    async get(ref, id) {
      const row = await inSession(ref).where("id", "=", id).selectAll().executeTakeFirst();
      return row === undefined ? null : interactionOf(row);
    },

    async byKey(ref, key) {
      const row = await inSession(ref).where("key", "=", key).selectAll().executeTakeFirst();
      return row === undefined ? null : interactionOf(row);
    },

    async schema(ref, id) {
      const row = await ofSession(db.selectFrom("interaction_schemas"), ref)
        .where("interaction_id", "=", id)
        .select("schema")
        .executeTakeFirst();
      return row?.schema ?? null;
    },

    async overdueForms({ limit }) {
      const rows = await db
        .selectFrom("interactions")
        .selectAll()
        // Literals instead of parameters, so that the planner can use the partial index.
        .where(sql<SqlBool>`kind = 'form' and status = 'pending'`)
        .where("deadline", "<=", ago(0))
        .orderBy("deadline")
        .orderBy("n")
        .limit(checkPage(limit))
        .execute();
      return rows.map(interactionOf);
    },

    async list(ref, { pending = false, kind, after = 0, limit = 100 } = {}) {
      const all = inSession(ref)
        .selectAll()
        .where("n", ">", checkCount(after, "after"))
        .orderBy("n")
        .limit(checkPage(limit));
      // A literal instead of a parameter, so that the planner can use the partial index.
      const some = pending ? all.where(sql<SqlBool>`status in ('pending', 'processing')`) : all;
      const wanted = kind === undefined ? some : some.where("kind", "=", kind);
      return (await wanted.execute()).map(interactionOf);
    },

    changes: (ref, id) => changesOf(db, ref, id).orderBy("version").execute(),
  };
}

async function insert(db: Db, ref: SessionRef, request: InteractionRequest) {
  const made = await db
    .insertInto("interactions")
    .values({
      ...rowOf(ref),
      id: request.id,
      kind: request.kind,
      key: request.key ?? request.id,
      turn_id: request.turn,
      run_id: request.run,
      block_id: request.block,
      item_index: request.index,
      call_id: request.call ?? null,
      request: JSON.stringify(request.request),
      digest: request.digest ?? null,
      deadline: request.deadlineMs === undefined ? null : clockPlus(request.deadlineMs),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  const schema = schemaText(request);
  if (made !== undefined && schema !== null)
    await db
      .insertInto("interaction_schemas")
      .values({ ...rowOf(ref), interaction_id: request.id, schema })
      .execute();
  return made;
}

type Row = Selectable<LedgerTables["interactions"]>;

async function win(db: Db, ref: SessionRef, transition: TransitionRequest): Promise<TransitionResult | null> {
  const { tenant, session } = ref;
  const { id, to, by = null, reason = null } = transition;
  const body = JSON.stringify(transition.body ?? null);
  const reasonJson = reason === null ? null : JSON.stringify(reason);
  // The session first, to follow the lock order of `session-row.ts`: no row of the interaction is read before.
  const { rows } = await sql<Row>`
    with held as (
      select id from sessions where id = ${session} and tenant_id = ${tenant} for key share
    ), won as (
      update interactions set status = ${to}, version = version + 1, changed_at = ${clock}
      where tenant_id = ${tenant} and session_id = ${session} and id = ${id} and exists (select from held)
        and ${mayBecome(transition)}
      returning *
    ), noted as (
      insert into interaction_changes (tenant_id, session_id, interaction_id, version, status, by_user, reason, body, at)
      select tenant_id, session_id, id, version, status, ${by}::text, ${reasonJson}::json, ${body}::json, changed_at
      from won
    )
    select * from won`.execute(db);
  const [row] = rows;
  if (row === undefined) return null;
  const interaction = interactionOf(row);
  const { version, status } = interaction;
  const change = {
    version,
    status,
    by,
    reason,
    body: JSON.parse(body) as Json,
    at: interaction.changedAt ?? 0,
  };
  return { applied: true, version, interaction, change };
}

/** The rules of `rules/interactions.ts` as a SQL condition. */
function mayBecome({ to, expectVersion, expectDigest }: TransitionRequest) {
  const rules = USER_DECIDED.map(
    (kind) =>
      sql`kind = ${kind} and status = any(${allowedFrom(kind, to)}::text[]) and ${isInTime(kind, to)}`,
  );
  return sql`(${sql.join(rules, sql` or `)})
    ${expectVersion === undefined ? sql`` : sql`and version = ${expectVersion}`}
    ${expectDigest === undefined ? sql`` : sql`and digest = ${expectDigest}`}`;
}

/** Reads the clock again after waiting for a concurrent change of the row, unlike `ago(0)`. */
function isInTime(kind: InteractionKind, to: string) {
  const timing = deadlineRule(kind, to);
  if (timing === "after") return sql`deadline <= ${clock}`;
  return timing === "any" ? sql`true` : sql`(deadline is null or deadline > ${clock})`;
}

/** Returns why the change lost, or null if it would win by now (its deadline has just passed) and may be retried. */
async function lose(
  db: Db,
  ref: SessionRef,
  transition: TransitionRequest,
  last: boolean,
): Promise<TransitionResult | null> {
  const row = await ofSession(db.selectFrom("interactions"), ref)
    .selectAll()
    .select(sql<number>`clock_timestamp()`.as("now"))
    .where("id", "=", transition.id)
    .executeTakeFirst();
  if (row === undefined) throw new StoreError("NOT_FOUND", "interaction");
  if (!USER_DECIDED.includes(row.kind)) throw ofFeature(row.kind);
  const current = interactionOf(row);
  const why = transitionError(current, transition, row.now);
  if (why === null && !last) return null;
  const change = await changesOf(db, ref, transition.id)
    .where("version", "=", current.version)
    .executeTakeFirst();
  return {
    applied: false,
    reason: why ?? "status",
    current,
    change: change ?? null,
    at: row.now,
  };
}

/** Converts a row to an interaction. */
export function interactionOf(row: Row): Interaction {
  return {
    tenant: row.tenant_id,
    session: row.session_id,
    id: row.id,
    n: row.n,
    kind: row.kind,
    key: row.key,
    turn: row.turn_id,
    run: row.run_id,
    block: row.block_id,
    index: row.item_index,
    call: row.call_id,
    request: row.request,
    digest: row.digest,
    deadline: row.deadline,
    status: row.status,
    version: row.version,
    requestedAt: row.requested_at,
    changedAt: row.changed_at,
  };
}

function changesOf(db: Db, ref: SessionRef, id: string) {
  return ofSession(db.selectFrom("interaction_changes"), ref)
    .select(["version", "status", "by_user as by", "reason", "body", "at"])
    .where("interaction_id", "=", id);
}
