/**
 * `QueuedMessages` is the part of the store for messages that wait for their turn, and `postgresWaiting` its
 * implementation.
 *
 * Invariant: a message is added and removed with the session's row of `turn_queue` locked, so that numbers follow the
 * order of commits, and that row names the oldest message while no turn runs. A message is taken once, and keeps its
 * row without a body, so that a repeat is not queued again.
 */
import type { UserMessage, Json } from "@turnstream/protocol";
import { sql } from "kysely";
import type { SessionRef } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import { deleteOldest } from "./database/delete-oldest.ts";
import type { QueuedMessageBody } from "./database/schema.ts";
import { inTransaction, ago, sessionNotFound, ofSession } from "./database/session-row.ts";
import { checkId, MAX_BATCH, checkDuration } from "./rules/arguments.ts";
import { type TurnCaller, checkOptions, checkTurnCaller } from "./running-turn.ts";
import { agentOf, queued, lockTurn, queueNext } from "./turn-queue.ts";

export type NewMessage = Pick<UserMessage, "id" | "text"> &
  Partial<Omit<UserMessage, "at">> &
  Partial<TurnCaller> & {
    /** For the worker that starts the turn, such as the requested agent. Not shown to users. */
    readonly options?: Json;
  };

/**
 * The part of the store for user messages that wait for a turn. Methods that change something throw NOT_FOUND if the session does
 * not exist. Does not start turns.
 */
export interface QueuedMessages {
  /**
   * Adds a message. Returns "already" if the session has or had this id, queued or not. So a repeat changes nothing and
   * never queues a message again that was taken.
   */
  add(ref: SessionRef, message: NewMessage): Promise<"added" | "already">;
  /** Returns false if the message is not queued. */
  remove(ref: SessionRef, id: string): Promise<boolean>;
  /** Returns the next messages in the order of arrival, at most 1,000. */
  list(ref: SessionRef): Promise<UserMessage[]>;
  /**
   * Forgets messages that were added that long ago and are no longer queued, at most `limit`. Their ids count as new
   * afterwards.
   * @returns how many
   */
  prune(query: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}

/** Adds the defaults of optional fields. */
export function queuedMessageBody(message: NewMessage): QueuedMessageBody {
  const { text, files = [], whole = null, resumes = null } = message;
  return { text, files, whole, resumes };
}

export function checkMessage({ id, by = null }: NewMessage) {
  return { id: checkId(id, "message id"), by: by === null ? null : checkId(by, "message by") };
}

export function postgresWaiting(db: Db): QueuedMessages {
  return {
    add: (ref, message) => add(db, ref, message),
    remove: (ref, id) => inTransaction(db, (tx) => remove(tx, ref, id)),
    async list(ref) {
      return (await waitingOf(db, ref).limit(MAX_BATCH).execute()).flatMap(queuedMessage);
    },
    async prune({ olderThanMs, limit }) {
      const isOld = sql`body is null and added_at <= ${ago(checkDuration(olderThanMs, "olderThanMs"))}`;
      const key = ["tenant_id", "session_id", "id"];
      return deleteOldest(db, "waiting_messages", { key, isOld, by: sql`added_at`, limit });
    },
  };
}

/** One statement. The number is assigned under the lock. */
async function add(db: Db, ref: SessionRef, message: NewMessage): Promise<"added" | "already"> {
  const { id, by } = checkMessage(message);
  const options = checkOptions(message.options);
  const { apiKey, usageLimits } = checkTurnCaller(message);
  const agent = agentOf(message.options);
  const body = JSON.stringify(queuedMessageBody(message));
  const { rows } = await sql<{ is_added: boolean }>`
    with locked as materialized (
      select tenant_id, id from sessions where tenant_id = ${ref.tenant} and id = ${ref.session} for no key update),
    held as materialized (
      select q.* from locked
      join turn_queue q on q.tenant_id = locked.tenant_id and q.session_id = locked.id for no key update of q),
    added as (
      insert into waiting_messages (tenant_id, session_id, id, body, by_user, options, agent, owner, key_id, usage_limits)
      select tenant_id, session_id, ${id}, ${body}::json, ${by}, ${options}::json, ${agent}, owner, ${apiKey},
        ${usageLimits}::json
      from held on conflict (tenant_id, session_id, id) do nothing returning n),
    queued as (
      update turn_queue set next_message = added.n, ${queued(sql`${agent}::text`)} from added, held
      where turn_queue.tenant_id = held.tenant_id and turn_queue.session_id = held.session_id
        and held.turn is null and held.next_message is null)
    select exists (select from added) as is_added from held`.execute(db);
  const [row] = rows;
  if (row === undefined) throw sessionNotFound(ref);
  return row.is_added ? "added" : "already";
}

function waitingOf(db: Db, ref: SessionRef) {
  return ofSession(db.selectFrom("waiting_messages"), ref)
    .select(["id", "body", "by_user", "added_at"])
    .where("body", "is not", null)
    .orderBy("n");
}

type MessageRow = Awaited<ReturnType<ReturnType<typeof waitingOf>["execute"]>>[number];

function queuedMessage(row: MessageRow): UserMessage[] {
  return row.body === null ? [] : [{ id: row.id, ...row.body, by: row.by_user, at: row.added_at }];
}

/** The next message takes the place of a removed one. */
async function remove(tx: Db, ref: SessionRef, id: string): Promise<boolean> {
  const { next_message: next } = await lockTurn(tx, ref);
  const row = await ofSession(tx.updateTable("waiting_messages"), ref)
    .set({ body: null, by_user: null, options: null, usage_limits: null })
    .where("id", "=", id)
    .where("body", "is not", null)
    .returning("n")
    .executeTakeFirst();
  if (row?.n === next && next !== null) await queueNext(tx, ref, sql`rank`);
  return row !== undefined;
}
