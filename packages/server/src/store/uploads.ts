/**
 * `Uploads` is the part of the store for files that users upload, and `postgresUploads` its implementation.
 *
 * Invariant: chunks are bounded rows of their own, so no process needs a whole upload in memory; with an object
 * storage, an upload has an object instead. Only the newest attempt changes an upload, until it is complete. The
 * session is locked while the bytes of its uploads are counted, in the transaction that adds a chunk or declares a
 * size, so that concurrent uploads can't exceed a limit together.
 */
import { sql, type Selectable } from "kysely";
import type { SessionRef } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import { deleteOldest } from "./database/delete-oldest.ts";
import type { CoreTables } from "./database/schema.ts";
import {
  inTransaction,
  lockSessionRow,
  rowOf,
  ownerOf,
  clock,
  ofSession,
  ago,
  lockSession,
} from "./database/session-row.ts";
import { StoreError } from "./errors.ts";
import {
  type UploadContent,
  type ObjectContext,
  WRITE_MS,
  reserveObject,
  extendObject,
  useObject,
  requireStorage,
  callStorage,
  readObject,
} from "./objects.ts";
import { checkCount, checkDuration, checkId, checkText } from "./rules/arguments.ts";

/** Maximum size of one chunk. */
export const MAX_CHUNK_BYTES = 1024 * 1024;

export interface Upload {
  readonly id: string;
  readonly name: string;
  /** As the client declares it. */
  readonly mediaType: string;
  readonly by: string | null;
  /** The number of bytes so far while the upload is not complete. */
  readonly size: number;
  readonly chunks: number;
  readonly isComplete: boolean;
  /** The key of the object with the bytes. Null if they are rows of the store. */
  readonly object: string | null;
  readonly createdAt: number;
}

export interface NewUpload extends Pick<Upload, "id" | "name" | "mediaType" | "by"> {
  /** The id of the API key behind the request, for its limit of bytes. @default none */
  readonly apiKey?: string | null;
  /** The content that a client will send to the object storage. @default none: chunks follow */
  readonly declared?: DeclaredContent;
}

interface DeclaredContent extends UploadContent {
  /** How long the client may send it. */
  readonly lifeMs: number;
  /** The most bytes that all uploads of the session may have with this one. */
  readonly maxSessionBytes: number;
}

export interface StartedUpload {
  readonly attempt: number;
  /** The key of the object to write the bytes to. Null if chunks are rows of the store. */
  readonly object: string | null;
}

export interface NewChunk {
  readonly attempt: number;
  readonly bytes: Uint8Array;
  /** The most bytes that all uploads of the session may have with this chunk. @default unlimited */
  readonly maxSessionBytes?: number;
}

/**
 * The part of the store for uploads to a session. Bytes come in chunks, so that no process needs all of them in memory. An
 * interrupted upload restarts from its first chunk, and further chunks of the earlier attempt are refused.
 */
export interface Uploads {
  /**
   * Starts an upload, or restarts one that is not complete. Returns "already" if it is complete. The size of declared
   * content counts from now on if there is an object storage.
   * @throws StoreError with TOO_LARGE if the uploads of the session would have more than `maxSessionBytes`.
   */
  begin(ref: SessionRef, upload: NewUpload): Promise<StartedUpload | "already">;
  /**
   * Adds the next chunk. With an object, it counts the bytes, and the caller writes them to the object.
   * @throws StoreError with CONFLICT if a newer attempt exists, or the upload is complete, and with TOO_LARGE if the
   * uploads of the session would have more than `maxSessionBytes`.
   */
  add(ref: SessionRef, id: string, chunk: NewChunk): Promise<void>;
  /** @throws StoreError with CONFLICT if a newer attempt exists. */
  complete(ref: SessionRef, id: string, attempt: number): Promise<Upload>;
  /**
   * Completes an upload with declared content, or returns it if it is complete.
   * @throws StoreError with CONFLICT unless the object storage has exactly this content.
   */
  completeDeclared(ref: SessionRef, id: string): Promise<Upload>;
  get(ref: SessionRef, id: string): Promise<Upload | null>;
  /** Returns a chunk of a complete upload, or null after the last one. */
  chunk(ref: SessionRef, id: string, n: number): Promise<Uint8Array | null>;
  /** Returns false if it does not exist. */
  remove(ref: SessionRef, id: string): Promise<boolean>;
  /**
   * Deletes uploads that were started that long ago and never completed.
   * @returns how many
   */
  prune(query: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}

/** @returns the upload with texts that can be stored */
export function checkUpload({ id, name, mediaType, by, apiKey = null, declared }: NewUpload) {
  if (declared !== undefined) {
    checkCount(declared.size, "size");
    checkDuration(declared.lifeMs, "lifeMs");
    if (!SHA256.test(declared.sha256))
      throw new StoreError("INVALID", "sha256 must be the base64 of a SHA-256 hash");
  }
  return {
    id: checkId(id, "upload id"),
    name: checkText(name, "name"),
    mediaType: checkText(mediaType, "media type"),
    by: by === null ? null : checkId(by, "by"),
    apiKey: apiKey === null ? null : checkId(apiKey, "apiKey"),
  };
}

/** 32 bytes in base64. */
const SHA256 = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

export function checkChunk({ attempt, bytes }: NewChunk): void {
  checkCount(attempt, "attempt");
  if (bytes.byteLength === 0 || bytes.byteLength > MAX_CHUNK_BYTES)
    throw new StoreError("TOO_LARGE", `a chunk of ${bytes.byteLength} bytes`);
}

export function checkSessionBytes(
  id: string,
  bytes: number,
  { maxSessionBytes = Infinity }: Pick<NewChunk, "maxSessionBytes">,
): void {
  if (bytes > maxSessionBytes)
    throw new StoreError("TOO_LARGE", `upload ${id} with the other uploads of its session`);
}

export function uploadSuperseded(id: string): StoreError {
  return new StoreError("CONFLICT", `upload ${id}`);
}

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
          .values({ ...rowOf(ref), id, ...values, owner: ownerOf(ref) })
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
    async prune({ olderThanMs, limit }) {
      const isOld = sql`not complete and created_at < ${ago(checkDuration(olderThanMs, "olderThanMs"))}`;
      const key = ["tenant_id", "session_id", "id"];
      return deleteOldest(db, "uploads", { key, isOld, by: sql`created_at`, limit });
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

function uploadOf(row: Selectable<CoreTables["uploads"]>): Upload {
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
