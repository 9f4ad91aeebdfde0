/**
 * `postgresUploads` and `postgresAttachments` implement the sub-ports for files on PostgreSQL.
 *
 * Invariant: upload chunks and text pieces are rows of their own, so reading a part never loads the rest. With an object
 * storage, an upload has an object instead of chunks. Only the newest attempt changes an upload, until it is complete.
 * The session is locked while the bytes of its uploads are counted. Every statement names the tenant and the session.
 */
import { type Selectable, sql } from "kysely";
import { StoreError } from "../errors.ts";
import {
  type Attachment,
  type Attachments,
  checkAttachment,
  checkChunk,
  checkSessionBytes,
  checkTextPosition,
  checkUpload,
  MAX_CHUNK_BYTES,
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
import {
  callStorage,
  extendObject,
  type ObjectContext,
  readObject,
  requireStorage,
  reserveObject,
  useObject,
  WRITE_MS,
} from "./objects.ts";
import type { FileTables } from "./schema.ts";
import {
  ago,
  clock,
  inTransaction,
  lockSession,
  lockSessionRow,
  ofSession,
  ownerColumn,
  rowOf,
} from "./session-row.ts";

export function postgresUploads(db: Db, objects: ObjectContext): Uploads {
  return {
    begin: (ref, given) =>
      inTransaction(db, async (tx) => {
        const { id, name, mediaType, by, apiKey } = checkUpload(given);
        await lockSessionRow(tx, ref);
        const hasStorage = objects.storage !== null;
        const declared = hasStorage ? given.declared : undefined;
        const writableMs = (declared?.lifeMs ?? 0) + WRITE_MS;
        const object = hasStorage ? await reserveObject(tx, ref, objects.env, writableMs) : null;
        const size = declared?.size ?? 0;
        const values = {
          name,
          media_type: mediaType,
          by_user: by,
          key_id: apiKey,
          size,
          chunks: Math.ceil(size / MAX_CHUNK_BYTES),
          object_key: object,
          digest: declared?.sha256 ?? null,
        };
        const row = await tx
          .insertInto("uploads")
          .values({ ...rowOf(ref), id, ...values, ...ownerColumn(ref) })
          .onConflict((oc) =>
            oc
              .columns(["tenant_id", "session_id", "id"])
              .doUpdateSet({ ...values, attempt: sql<number>`uploads.attempt + 1`, created_at: clock })
              .where("uploads.complete", "=", false),
          )
          .returning("attempt")
          .executeTakeFirst();
        if (row === undefined) {
          if (object !== null) await tx.deleteFrom("stored_objects").where("key", "=", object).execute();
          return "already";
        }
        if (declared !== undefined) await checkTotal(tx, ref, id, declared);
        const of = { ...rowOf(ref), upload_id: id };
        if (row.attempt > 1)
          await tx
            .deleteFrom("upload_chunks")
            .where((eb) => eb.and(of))
            .execute();
        return { attempt: row.attempt, object };
      }),
    add: (ref, id, chunk) =>
      inTransaction(db, async (tx) => {
        checkChunk(chunk);
        await lockSessionRow(tx, ref);
        const size = chunk.bytes.byteLength;
        const row = await change(tx, ref, id, chunk.attempt)
          .set({ size: sql<number>`size + ${size}`, chunks: sql<number>`chunks + 1` })
          .returning(["chunks", "object_key"])
          .executeTakeFirst();
        if (row === undefined) throw await whyNot(tx, ref, id);
        if (row.object_key === null)
          await tx
            .insertInto("upload_chunks")
            .values({ ...rowOf(ref), upload_id: id, n: row.chunks - 1, bytes: chunk.bytes })
            .execute();
        else await extendObject(tx, row.object_key);
        await checkTotal(tx, ref, id, chunk);
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
        if (row.object_key !== null) await useObject(tx, row.object_key, true);
        return uploadOf(row);
      }),
    async completeDeclared(ref, id) {
      const row = await findUpload(db, ref, id);
      if (row === undefined) throw new StoreError("NOT_FOUND", `upload ${id}`);
      if (row.complete) return uploadOf(row);
      const { object_key: key, digest, size, attempt } = row;
      if (key === null || digest === null) throw uploadSuperseded(id);
      const storage = requireStorage(objects);
      const info = await callStorage(() => storage.head(key));
      if (info === null || info.size !== size || info.sha256 !== digest)
        throw new StoreError("CONFLICT", `upload ${id} is not in the object storage`);
      return inTransaction(db, async (tx) => {
        await lockSessionRow(tx, ref);
        const changed = await ofSession(tx.updateTable("uploads"), ref)
          .set({ complete: true })
          .where("id", "=", id)
          .where("attempt", "=", attempt)
          .returningAll()
          .executeTakeFirst();
        if (changed === undefined) throw await whyNot(tx, ref, id);
        // The client can repeat its request until the URL expires.
        await useObject(tx, key, false);
        return uploadOf(changed);
      });
    },
    async get(ref, id) {
      const row = await findUpload(db, ref, id);
      return row === undefined ? null : uploadOf(row);
    },
    async chunk(ref, id, n) {
      checkCount(n, "n");
      const upload = await findUpload(db, ref, id);
      if (upload?.complete !== true) return null;
      if (upload.object_key !== null) {
        const start = n * MAX_CHUNK_BYTES;
        const range = { start, end: Math.min(upload.size, start + MAX_CHUNK_BYTES) };
        return start >= upload.size ? null : readObject(objects, upload.object_key, range);
      }
      const row = await ofSession(db.selectFrom("upload_chunks"), ref)
        .select("bytes")
        .where("upload_id", "=", id)
        .where("n", "=", sql<number>`${n}::bigint`)
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

/** Updates an incomplete upload of this attempt. A client sends declared content, so nothing else changes it. */
function change(tx: Db, ref: SessionRef, id: string, attempt: number) {
  return ofSession(tx.updateTable("uploads"), ref)
    .where("id", "=", id)
    .where("attempt", "=", sql<number>`${attempt}::bigint`)
    .where("digest", "is", null)
    .where("complete", "=", false);
}

/** After the bytes are written, so that other changes of the session wait only for the count. */
async function checkTotal(
  tx: Db,
  ref: SessionRef,
  id: string,
  limit: Parameters<typeof checkSessionBytes>[2],
): Promise<void> {
  await lockSession(tx, ref);
  const { total } = await ofSession(tx.selectFrom("uploads"), ref)
    .select(sql<number>`sum(size)::bigint`.as("total"))
    .executeTakeFirstOrThrow();
  checkSessionBytes(id, total, limit);
}

function findUpload(db: Db, ref: SessionRef, id: string) {
  return ofSession(db.selectFrom("uploads"), ref).selectAll().where("id", "=", id).executeTakeFirst();
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
    object: row.object_key,
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
