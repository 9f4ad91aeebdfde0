/**
 * `postgresUploads`, `postgresAttachments` and `postgresBlobs` implement the sub-ports for files on PostgreSQL.
 *
 * Invariant: upload chunks, text pieces and blobs are rows of their own, so reading a part never loads the rest. Only
 * the newest attempt changes an upload, until it is complete. The session is locked while the bytes of its uploads are
 * counted. Every statement names the tenant and the session.
 */
import { type Selectable, sql } from "kysely";
import { StoreError } from "../errors.ts";
import {
  type Attachment,
  type Attachments,
  type Blobs,
  checkAttachment,
  checkBlob,
  checkChunk,
  checkSessionBytes,
  checkTextPosition,
  checkUpload,
  MAX_LISTED,
  MAX_PRUNED,
  MAX_RANGE,
  locateText,
  uploadSuperseded,
  type Upload,
  type Uploads,
} from "../ports/files.ts";
import type { SessionRef } from "../../util/refs.ts";
import { checkCount, checkDuration, checkLimit } from "../rules/arguments.ts";
import type { Db } from "./database.ts";
import type { FileTables } from "./schema.ts";
import {
  ago,
  clock,
  inTransaction,
  lockSession,
  lockSessionRow,
  ofSession,
  ownerColumn,
  requireSession,
  rowOf,
} from "./session-row.ts";

export function postgresUploads(db: Db): Uploads {
  return {
    begin: (ref, given) =>
      inTransaction(db, async (tx) => {
        const { id, name, mediaType, by, apiKey } = checkUpload(given);
        await lockSessionRow(tx, ref);
        const row = await tx
          .insertInto("uploads")
          .values({
            ...rowOf(ref),
            id,
            name,
            media_type: mediaType,
            by_user: by,
            key_id: apiKey,
            ...ownerColumn(ref),
          })
          .onConflict((oc) =>
            oc
              .columns(["tenant_id", "session_id", "id"])
              .doUpdateSet({
                name,
                media_type: mediaType,
                by_user: by,
                key_id: apiKey,
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
        const of = { ...rowOf(ref), upload_id: id };
        if (row.attempt > 1)
          await tx
            .deleteFrom("upload_chunks")
            .where((eb) => eb.and(of))
            .execute();
        return { attempt: row.attempt };
      }),
    add: (ref, id, chunk) =>
      inTransaction(db, async (tx) => {
        checkChunk(chunk);
        await lockSessionRow(tx, ref);
        const size = chunk.bytes.byteLength;
        const row = await change(tx, ref, id, chunk.attempt)
          .set({ size: sql<number>`size + ${size}`, chunks: sql<number>`chunks + 1` })
          .returning("chunks")
          .executeTakeFirst();
        if (row === undefined) throw await whyNot(tx, ref, id);
        const n = row.chunks - 1;
        await tx
          .insertInto("upload_chunks")
          .values({ ...rowOf(ref), upload_id: id, n, bytes: chunk.bytes })
          .execute();
        // After the bytes are written, so that other changes of the session wait only for the count.
        await lockSession(tx, ref);
        const { total } = await ofSession(tx.selectFrom("uploads"), ref)
          .select(sql<number>`sum(size)::bigint`.as("total"))
          .executeTakeFirstOrThrow();
        checkSessionBytes(id, total, chunk);
      }),
    complete: (ref, id, attempt) =>
      inTransaction(db, async (tx) => {
        checkCount(attempt, "attempt");
        await lockSessionRow(tx, ref);
        const row = await change(tx, ref, id, attempt)
          .set({ complete: true })
          .returningAll()
          .executeTakeFirst();
        if (row === undefined) throw await whyNot(tx, ref, id);
        return uploadOf(row);
      }),
    async get(ref, id) {
      const row = await ofSession(db.selectFrom("uploads"), ref)
        .selectAll()
        .where("id", "=", id)
        .executeTakeFirst();
      return row === undefined ? null : uploadOf(row);
    },
    async chunk(ref, id, n) {
      checkCount(n, "n");
      const row = await db
        .selectFrom("upload_chunks as c")
        .innerJoin("uploads as u", (join) =>
          join
            .onRef("u.tenant_id", "=", "c.tenant_id")
            .onRef("u.session_id", "=", "c.session_id")
            .onRef("u.id", "=", "c.upload_id"),
        )
        .select("c.bytes")
        .where("c.tenant_id", "=", ref.tenant)
        .where("c.session_id", "=", ref.session)
        .where("c.upload_id", "=", id)
        .where("c.n", "=", sql<number>`${n}::bigint`)
        .where("u.complete", "=", true)
        .executeTakeFirst();
      return row === undefined ? null : new Uint8Array(row.bytes);
    },
    async remove(ref, id) {
      const { numDeletedRows } = await ofSession(db.deleteFrom("uploads"), ref)
        .where("id", "=", id)
        .executeTakeFirst();
      return numDeletedRows === 1n;
    },
    async prune(query) {
      const olderThanMs = checkDuration(query.olderThanMs, "olderThanMs");
      const limit = checkLimit(query.limit, MAX_PRUNED);
      const { numDeletedRows } = await db
        .deleteFrom("uploads")
        .where(sql<boolean>`(tenant_id, session_id, id) in (
          select tenant_id, session_id, id from uploads
          where not complete and created_at < ${ago(olderThanMs)}
          order by created_at limit ${limit} for update skip locked)`)
        .executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}

/** Updates an incomplete upload of this attempt. */
function change(tx: Db, ref: SessionRef, id: string, attempt: number) {
  return ofSession(tx.updateTable("uploads"), ref)
    .where("id", "=", id)
    .where("attempt", "=", sql<number>`${attempt}::bigint`)
    .where("complete", "=", false);
}

async function whyNot(tx: Db, ref: SessionRef, id: string): Promise<StoreError> {
  const row = await ofSession(tx.selectFrom("uploads"), ref)
    .select("id")
    .where("id", "=", id)
    .executeTakeFirst();
  return row === undefined ? new StoreError("NOT_FOUND", `upload ${id}`) : uploadSuperseded(id);
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

/** How many pieces one statement inserts. */
const BATCH = 50;

export function postgresAttachments(db: Db): Attachments {
  return {
    add: (ref, given) =>
      inTransaction(db, async (tx) => {
        const { text, id, name, url, mediaType, size, isCut, turn } = checkAttachment(given);
        await lockSessionRow(tx, ref);
        const chars = text.reduce((sum, piece) => sum + piece.length, 0);
        const { numInsertedOrUpdatedRows } = await tx
          .insertInto("attachments")
          .values({
            ...rowOf(ref),
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
          .onConflict((oc) => oc.columns(["tenant_id", "session_id", "id"]).doNothing())
          .executeTakeFirst();
        if (numInsertedOrUpdatedRows !== 1n) return "already";
        const pieces = locateText(text);
        for (let from = 0; from < pieces.length; from += BATCH) {
          const batch = pieces.slice(from, from + BATCH);
          await tx
            .insertInto("attachment_pieces")
            .values(batch.map((piece) => ({ ...rowOf(ref), attachment_id: id, ...piece })))
            .execute();
        }
        return "added";
      }),
    async get(ref, id) {
      const row = await ofSession(db.selectFrom("attachments"), ref)
        .selectAll()
        .where("id", "=", id)
        .executeTakeFirst();
      return row === undefined ? null : attachmentOf(row);
    },
    async list(ref, query) {
      const rows = await ofSession(db.selectFrom("attachments"), ref)
        .selectAll()
        .orderBy("n", "desc")
        .limit(checkLimit(query.limit, MAX_LISTED))
        .execute();
      return rows.map(attachmentOf);
    },
    async pieces(ref, id, range) {
      const from = checkCount(range.from, "from");
      const limit = checkLimit(range.limit, MAX_RANGE);
      return ofSession(db.selectFrom("attachment_pieces"), ref)
        .select(["n", "at", "line", "text"])
        .where("attachment_id", "=", id)
        .where("n", ">=", sql<number>`${from}::bigint`)
        .where("n", "<", sql<number>`${from + limit}::bigint`)
        .orderBy("n")
        .execute();
    },
    async pieceAt(ref, id, given) {
      const place = checkTextPosition(given);
      const isBefore =
        "char" in place
          ? sql<boolean>`at <= ${place.char}::bigint`
          : sql<boolean>`line < ${place.line}::bigint`;
      const row = await ofSession(db.selectFrom("attachment_pieces"), ref)
        .select("n")
        .where("attachment_id", "=", id)
        .where((eb) => eb.or([isBefore, eb("n", "=", 0)]))
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

/** Blobs are stored as bytea, so they are erased with their session and are part of every backup. */
export function postgresBlobs(db: Db): Blobs {
  return {
    async put(ref, blob) {
      const { mediaType, name = null } = checkBlob(blob);
      await requireSession(db, ref);
      const { numInsertedOrUpdatedRows } = await db
        .insertInto("blobs")
        .values({
          ...rowOf(ref),
          id: blob.id,
          media_type: mediaType,
          name,
          size: blob.body.byteLength,
          body: blob.body,
        })
        .onConflict((oc) => oc.columns(["tenant_id", "session_id", "id"]).doNothing())
        .executeTakeFirst();
      return numInsertedOrUpdatedRows === 1n ? "stored" : "already";
    },
    async get(ref, id) {
      const row = await ofSession(db.selectFrom("blobs"), ref)
        .select(["media_type", "name", "body"])
        .where("id", "=", id)
        .executeTakeFirst();
      if (row === undefined) return null;
      const named = row.name === null ? {} : { name: row.name };
      return { id, mediaType: row.media_type, ...named, body: bytesOf(row.body) };
    },
    copy: (from, to, ids) =>
      inTransaction(db, async (tx) => {
        if (from.tenant !== to.tenant) throw new StoreError("NOT_FOUND", `session ${from.session}`);
        await requireSession(tx, from);
        await requireSession(tx, to);
        const { numInsertedOrUpdatedRows } = await tx
          .insertInto("blobs")
          .columns(["tenant_id", "session_id", "id", "media_type", "name", "size", "body"])
          .expression((eb) =>
            ofSession(eb.selectFrom("blobs"), from)
              .select((of) => [
                "tenant_id",
                of.val(to.session).as("session_id"),
                "id",
                "media_type",
                "name",
                "size",
                "body",
              ])
              .where("id", "=", sql<string>`any(${[...ids]}::text[])`),
          )
          .onConflict((oc) => oc.columns(["tenant_id", "session_id", "id"]).doNothing())
          .executeTakeFirst();
        return Number(numInsertedOrUpdatedRows ?? 0n);
      }),
  };
}

/** Returns the driver's buffer without a copy if it doesn't share its memory. Small buffers share it and are copied. */
function bytesOf(body: Buffer): Uint8Array {
  return body.byteLength === body.buffer.byteLength ? new Uint8Array(body.buffer) : new Uint8Array(body);
}
