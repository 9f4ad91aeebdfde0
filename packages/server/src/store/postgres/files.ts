/** Uploads on PostgreSQL: a row for each, and one of bytea for each chunk. */
import { type Selectable, sql } from "kysely";
import { StoreError } from "../errors.ts";
import {
  checkChunk,
  checkUpload,
  MAX_PRUNED,
  superseded,
  type Upload,
  type Uploads,
} from "../ports/files.ts";
import type { Ref } from "../refs.ts";
import { checkCount, checkDuration, checkLimit } from "../rules/arguments.ts";
import type { Db } from "./database.ts";
import type { FileTables } from "./file-tables.ts";
import { ago, clock, holdSession, inTransaction, isTenants } from "./session-row.ts";

export function postgresUploads(db: Db): Uploads {
  return {
    begin: (ref, given) =>
      inTransaction(db, async (tx) => {
        const { id, name, mediaType, by } = checkUpload(given);
        await holdSession(tx, ref);
        const row = await tx
          .insertInto("uploads")
          .values({ session_id: ref.session, id, name, media_type: mediaType, by_user: by })
          .onConflict((oc) =>
            oc
              .columns(["session_id", "id"])
              .doUpdateSet({
                name,
                media_type: mediaType,
                by_user: by,
                size: 0,
                chunks: 0,
                attempt: sql<number>`uploads.attempt + 1`,
                created_at: clock,
              })
              .where("uploads.complete", "=", false),
          )
          .returning("attempt")
          .executeTakeFirst();
        if (row === undefined) return "already";
        const of = { session_id: ref.session, upload_id: id };
        if (row.attempt > 1)
          await tx
            .deleteFrom("upload_chunks")
            .where((eb) => eb.and(of))
            .execute();
        const { others } = await tx
          .selectFrom("uploads")
          .select(sql<number>`coalesce(sum(size), 0)::bigint`.as("others"))
          .where("session_id", "=", ref.session)
          .executeTakeFirstOrThrow();
        return { attempt: row.attempt, others };
      }),
    add: (ref, id, chunk) =>
      inTransaction(db, async (tx) => {
        checkChunk(chunk);
        await holdSession(tx, ref);
        const size = chunk.bytes.byteLength;
        const row = await change(tx, ref, id, chunk.attempt)
          .set({ size: sql<number>`size + ${size}`, chunks: sql<number>`chunks + 1` })
          .returning("chunks")
          .executeTakeFirst();
        if (row === undefined) throw await whyNot(tx, ref, id);
        const n = row.chunks - 1;
        await tx
          .insertInto("upload_chunks")
          .values({ session_id: ref.session, upload_id: id, n, bytes: chunk.bytes })
          .execute();
      }),
    complete: (ref, id, attempt) =>
      inTransaction(db, async (tx) => {
        checkCount(attempt, "attempt");
        await holdSession(tx, ref);
        const row = await change(tx, ref, id, attempt)
          .set({ complete: true })
          .returningAll()
          .executeTakeFirst();
        if (row === undefined) throw await whyNot(tx, ref, id);
        return uploadOf(row);
      }),
    async get(ref, id) {
      const row = await db
        .selectFrom("uploads")
        .selectAll()
        .where("session_id", "=", ref.session)
        .where("id", "=", id)
        .where(isTenants(ref))
        .executeTakeFirst();
      return row === undefined ? null : uploadOf(row);
    },
    async chunk(ref, id, n) {
      checkCount(n, "n");
      const row = await db
        .selectFrom("upload_chunks as c")
        .innerJoin("uploads as u", (join) =>
          join.onRef("u.session_id", "=", "c.session_id").onRef("u.id", "=", "c.upload_id"),
        )
        .select("c.bytes")
        .where("c.session_id", "=", ref.session)
        .where("c.upload_id", "=", id)
        .where("c.n", "=", sql<number>`${n}::bigint`)
        .where("u.complete", "=", true)
        .where(isTenants(ref))
        .executeTakeFirst();
      return row === undefined ? null : new Uint8Array(row.bytes);
    },
    async remove(ref, id) {
      const { numDeletedRows } = await db
        .deleteFrom("uploads")
        .where("session_id", "=", ref.session)
        .where("id", "=", id)
        .where(isTenants(ref))
        .executeTakeFirst();
      return numDeletedRows === 1n;
    },
    async prune(query) {
      const olderThanMs = checkDuration(query.olderThanMs, "olderThanMs");
      const limit = checkLimit(query.limit, MAX_PRUNED);
      const { numDeletedRows } = await db
        .deleteFrom("uploads")
        .where(sql<boolean>`(session_id, id) in (
          select session_id, id from uploads
          where not complete and created_at < ${ago(olderThanMs)}
          order by created_at limit ${limit} for update skip locked)`)
        .executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}

/** One that is being uploaded, by this try. */
function change(tx: Db, ref: Ref, id: string, attempt: number) {
  return tx
    .updateTable("uploads")
    .where("session_id", "=", ref.session)
    .where("id", "=", id)
    .where("attempt", "=", sql<number>`${attempt}::bigint`)
    .where("complete", "=", false);
}

async function whyNot(tx: Db, ref: Ref, id: string): Promise<StoreError> {
  const row = await tx
    .selectFrom("uploads")
    .select("id")
    .where("session_id", "=", ref.session)
    .where("id", "=", id)
    .executeTakeFirst();
  return row === undefined ? new StoreError("NOT_FOUND", `upload ${id}`) : superseded(id);
}

function uploadOf(row: Selectable<FileTables["uploads"]>): Upload {
  const { id, name, size, chunks } = row;
  return {
    id,
    name,
    mediaType: row.media_type,
    by: row.by_user,
    size,
    chunks,
    isComplete: row.complete,
    createdAt: row.created_at,
  };
}
