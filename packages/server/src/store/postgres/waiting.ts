/** Waiting messages on PostgreSQL. A row without a body waits no longer. */
import type { UserMessage } from "@turnstream/protocol";
import type { Ref } from "../refs.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { checkMessage, type NewMessage, type Waiting, waitingBody } from "../ports/waiting.ts";
import { checkOptions } from "../rules/running.ts";
import type { Db } from "./database.ts";
import { inTransaction, isTenants, lockSession } from "./session-row.ts";

export function postgresWaiting(db: Db): Waiting {
  return {
    add: (ref, message) => inTransaction(db, (tx) => add(tx, ref, message)),
    remove: (ref, id) =>
      inTransaction(db, async (tx) => {
        await lockSession(tx, ref);
        return settle(tx, ref, id);
      }),
    async list(ref) {
      return (await waitingOf(db, ref).limit(MAX_BATCH).execute()).flatMap(messageOf);
    },
    take: (ref) =>
      inTransaction(db, async (tx) => {
        // Takers queue up here: to lock the message instead would give the second one nothing, or the wrong one.
        await lockSession(tx, ref);
        const [message] = (await waitingOf(tx, ref).limit(1).execute()).flatMap(messageOf);
        if (message === undefined) return null;
        await settle(tx, ref, message.id);
        return message;
      }),
  };
}

async function add(tx: Db, ref: Ref, message: NewMessage) {
  const { id, by } = checkMessage(message);
  const options = checkOptions(message.options);
  // Numbers are drawn with the lock held, so that they follow the order of the commits.
  await lockSession(tx, ref);
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto("waiting_messages")
    .values({
      session_id: ref.session,
      id,
      body: JSON.stringify(waitingBody(message)),
      by_user: by,
      options,
    })
    .onConflict((oc) => oc.columns(["session_id", "id"]).doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n ? "added" : "already";
}

function waitingOf(db: Db, ref: Ref) {
  return db
    .selectFrom("waiting_messages")
    .select(["id", "body", "by_user", "added_at"])
    .where("session_id", "=", ref.session)
    .where(isTenants(ref))
    .where("body", "is not", null)
    .orderBy("n");
}

type Row = Awaited<ReturnType<ReturnType<typeof waitingOf>["execute"]>>[number];

function messageOf(row: Row): UserMessage[] {
  return row.body === null ? [] : [{ id: row.id, ...row.body, by: row.by_user, at: row.added_at }];
}

async function settle(tx: Db, ref: Ref, id: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("waiting_messages")
    .set({ body: null, by_user: null, options: null })
    .where("session_id", "=", ref.session)
    .where("id", "=", id)
    .where("body", "is not", null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
