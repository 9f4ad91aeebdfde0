/**
 * `postgresWaiting` implements queued messages on PostgreSQL.
 *
 * Invariant: a message is added and removed with the session's row of `turn_queue` locked, so that numbers follow the
 * order of commits, and that row names the oldest message while no turn runs. A taken message keeps its row without a
 * body, so that a repeat is not queued again.
 */
import { sql } from "kysely";
import type { UserMessage } from "@turnstream/protocol";
import type { SessionRef } from "../../util/refs.ts";
import { checkMessage, type NewMessage, type QueuedMessages, queuedMessageBody } from "../ports/running.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { checkDuration, checkLimit } from "../rules/arguments.ts";
import { checkOptions, checkTurnCaller } from "../rules/running.ts";
import { agentOf } from "../rules/turn-queue.ts";
import type { Db } from "./database.ts";
import { ago, inTransaction, ofSession, sessionNotFound } from "./session-row.ts";
import { lockTurn, queued, queueNext } from "./turn-queue.ts";

export function postgresWaiting(db: Db): QueuedMessages {
  return {
    add: (ref, message) => add(db, ref, message),
    remove: (ref, id) => inTransaction(db, (tx) => remove(tx, ref, id)),
    async list(ref) {
      return (await waitingOf(db, ref).limit(MAX_BATCH).execute()).flatMap(queuedMessage);
    },
    async prune({ olderThanMs, limit }) {
      const { numAffectedRows } = await sql`
        delete from waiting_messages where (tenant_id, session_id, id) in (
          select tenant_id, session_id, id from waiting_messages
          where body is null and added_at <= ${ago(checkDuration(olderThanMs, "olderThanMs"))}
          order by added_at limit ${checkLimit(limit, MAX_BATCH)} for update skip locked)`.execute(db);
      return Number(numAffectedRows ?? 0n);
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
