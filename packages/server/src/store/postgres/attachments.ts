/** Attachments on PostgreSQL: a row for each, and one for each piece of its text. */
import { type Selectable, sql } from "kysely";
import {
  type Attachment,
  type Attachments,
  checkAttachment,
  checkPlace,
  MAX_LISTED,
  MAX_RANGE,
  placed,
} from "../ports/attachments.ts";
import { checkCount, checkLimit } from "../rules/arguments.ts";
import type { Db } from "./database.ts";
import type { FileTables } from "./file-tables.ts";
import { holdSession, inTransaction, isTenants } from "./session-row.ts";

/** How many pieces go to the database in one statement. */
const BATCH = 50;

export function postgresAttachments(db: Db): Attachments {
  return {
    add: (ref, given) =>
      inTransaction(db, async (tx) => {
        const { text, id, name, url, mediaType, size, isCut, turn } = checkAttachment(given);
        await holdSession(tx, ref);
        const chars = text.reduce((sum, piece) => sum + piece.length, 0);
        const { numInsertedOrUpdatedRows } = await tx
          .insertInto("attachments")
          .values({
            session_id: ref.session,
            id,
            turn,
            name,
            url,
            media_type: mediaType,
            size,
            chars,
            pieces: text.length,
            is_cut: isCut,
          })
          .onConflict((oc) => oc.columns(["session_id", "id"]).doNothing())
          .executeTakeFirst();
        if (numInsertedOrUpdatedRows !== 1n) return "already";
        const pieces = placed(text);
        for (let from = 0; from < pieces.length; from += BATCH) {
          const batch = pieces.slice(from, from + BATCH);
          await tx
            .insertInto("attachment_pieces")
            .values(batch.map((piece) => ({ session_id: ref.session, attachment_id: id, ...piece })))
            .execute();
        }
        return "added";
      }),
    async get(ref, id) {
      const row = await db
        .selectFrom("attachments")
        .selectAll()
        .where("session_id", "=", ref.session)
        .where("id", "=", id)
        .where(isTenants(ref))
        .executeTakeFirst();
      return row === undefined ? null : attachmentOf(row);
    },
    async list(ref, query) {
      const rows = await db
        .selectFrom("attachments")
        .selectAll()
        .where("session_id", "=", ref.session)
        .where(isTenants(ref))
        .orderBy("n", "desc")
        .limit(checkLimit(query.limit, MAX_LISTED))
        .execute();
      return rows.map(attachmentOf);
    },
    async pieces(ref, id, range) {
      const from = checkCount(range.from, "from");
      const limit = checkLimit(range.limit, MAX_RANGE);
      return db
        .selectFrom("attachment_pieces")
        .select(["n", "at", "line", "text"])
        .where("session_id", "=", ref.session)
        .where("attachment_id", "=", id)
        .where("n", ">=", sql<number>`${from}::bigint`)
        .where("n", "<", sql<number>`${from + limit}::bigint`)
        .where(isTenants(ref))
        .orderBy("n")
        .execute();
    },
    async pieceAt(ref, id, given) {
      const place = checkPlace(given);
      const isBefore =
        "char" in place
          ? sql<boolean>`at <= ${place.char}::bigint`
          : sql<boolean>`line < ${place.line}::bigint`;
      const row = await db
        .selectFrom("attachment_pieces")
        .select("n")
        .where("session_id", "=", ref.session)
        .where("attachment_id", "=", id)
        .where((eb) => eb.or([isBefore, eb("n", "=", 0)]))
        .where(isTenants(ref))
        .orderBy("n", "desc")
        .limit(1)
        .executeTakeFirst();
      return row?.n ?? null;
    },
  };
}

function attachmentOf(row: Selectable<FileTables["attachments"]>): Attachment {
  const { id, name, url, size, chars, pieces, turn } = row;
  const { media_type: mediaType, is_cut: isCut, added_at: addedAt } = row;
  return { id, name, url, mediaType, size, chars, pieces, isCut, turn, addedAt };
}
