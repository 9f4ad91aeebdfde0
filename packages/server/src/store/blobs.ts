/**
 * `Blobs` is the part of the store for large content of events, and `postgresBlobs` its implementation. The bytes are
 * rows, or objects of the object storage.
 *
 * Invariant: a blob never changes. Without an object storage, or put inside a transaction, it is a row, so it is erased
 * with its session and part of every backup. Otherwise its object is written before its row exists. Every statement
 * names the tenant and the session.
 */
import { type Insertable, sql } from "kysely";
import { createHash } from "node:crypto";
import { defined } from "../util/defined.ts";
import type { SessionRef } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import type { CoreTables } from "./database/schema.ts";
import { requireSession, rowOf, inTransaction, lockSessionRow, ofSession } from "./database/session-row.ts";
import { StoreError } from "./errors.ts";
import {
  type ObjectContext,
  reserveObject,
  callStorage,
  useObject,
  releaseObject,
  readObject,
  requireStorage,
} from "./objects.ts";
import { checkId, checkText } from "./rules/arguments.ts";

/** Maximum size of one blob. */
export const MAX_BLOB_BYTES = 64 * 1024 * 1024;

export interface StoredBlob {
  readonly id: string;
  readonly mediaType: string;
  /** File name of a download. */
  readonly name?: string;
  readonly body: Uint8Array;
}

/** A blob whose bytes may still be in the object storage. */
export interface FoundBlob extends Omit<StoredBlob, "body"> {
  readonly size: number;
  /** Null if the bytes are in `object`. */
  readonly body: Uint8Array | null;
  readonly object: { readonly key: string; /** SHA-256 in base64. */ readonly sha256: string } | null;
}

/** The copy of an object for another session. */
export interface StagedCopy {
  readonly blob: string;
  readonly key: string;
}

/** The part of the store for blobs: the full content of which an event has only a preview. */
export interface Blobs {
  /**
   * Stores a blob. Returns "already" if the session has this id; the first one stays.
   * @throws StoreError with TOO_LARGE above MAX_BLOB_BYTES, with NOT_FOUND if the session does not exist.
   */
  put(ref: SessionRef, blob: StoredBlob): Promise<"stored" | "already">;
  get(ref: SessionRef, id: string): Promise<StoredBlob | null>;
  /** Like `get`, without reading the object storage. */
  find(ref: SessionRef, id: string): Promise<FoundBlob | null>;
  /**
   * Copies the objects of blobs, for `copy` in a transaction. The other session need not exist yet. Copies that are not
   * used are deleted later.
   */
  stageCopies(from: SessionRef, to: SessionRef, ids: readonly string[]): Promise<StagedCopy[]>;
  /**
   * Copies blobs into another session of the same tenant, under the same ids.
   * @param staged the result of `stageCopies` for the same ids, required in a transaction. @default copies the objects
   * @returns how many
   */
  copy(
    from: SessionRef,
    to: SessionRef,
    ids: readonly string[],
    staged?: readonly StagedCopy[],
  ): Promise<number>;
}

/** @returns media type and name as they can be stored */
export function checkBlob({ id, mediaType, name, body }: StoredBlob): Pick<StoredBlob, "mediaType" | "name"> {
  checkId(id, "blob id");
  if (body.byteLength > MAX_BLOB_BYTES)
    throw new StoreError("TOO_LARGE", `blob ${id} of ${body.byteLength} bytes`);
  return {
    mediaType: checkText(mediaType, "media type"),
    ...(name === undefined ? {} : { name: checkText(name, "name") }),
  };
}

/** Objects that one call copies at the same time. */
const PARALLEL_COPIES = 8;

export function postgresBlobs(db: Db, objects: ObjectContext): Blobs {
  const blobs: Blobs = {
    async put(ref, blob) {
      const { mediaType, name = null } = checkBlob(blob);
      const { id, body } = blob;
      await requireSession(db, ref);
      const row = { ...rowOf(ref), id, media_type: mediaType, name, size: body.byteLength };
      const { storage } = objects;
      // A transaction that is undone would leave an object without a row.
      if (storage === null || db.isTransaction) return insertBlob(db, { ...row, body });
      if ((await findRow(db, ref, id)) !== undefined) return "already";
      const key = await reserveObject(db, ref, objects.env);
      try {
        await callStorage(() => storage.put(key, body));
        const digest = createHash("sha256").update(body).digest("base64");
        return await inTransaction(db, async (tx) => {
          await lockSessionRow(tx, ref);
          const result = await insertBlob(tx, { ...row, body: null, object_key: key, digest });
          if (result === "stored") await useObject(tx, key, true);
          return result;
        });
      } finally {
        // Unless the blob uses it. If this fails, the object is deleted later.
        await releaseObject(db, key).catch(() => undefined);
      }
    },
    async get(ref, id) {
      const found = await blobs.find(ref, id);
      if (found === null) return null;
      const { mediaType, name, object } = found;
      const body = object === null ? found.body : await readObject(objects, object.key);
      return body === null ? null : { id, mediaType, ...defined({ name }), body };
    },
    async find(ref, id) {
      const row = await findRow(db, ref, id);
      if (row === undefined) return null;
      return {
        id,
        mediaType: row.media_type,
        ...(row.name === null ? {} : { name: row.name }),
        size: row.size,
        body: row.body === null ? null : bytesOf(row.body),
        object: row.object_key === null ? null : { key: row.object_key, sha256: row.digest ?? "" },
      };
    },
    async stageCopies(from, to, ids) {
      if (from.tenant !== to.tenant) throw new StoreError("NOT_FOUND", `session ${from.session}`);
      const rows = await ofSession(db.selectFrom("blobs"), from)
        .select(["id", "object_key"])
        .where("id", "=", sql<string>`any(${[...ids]}::text[])`)
        .where("object_key", "is not", null)
        .execute();
      if (rows.length === 0) return [];
      const storage = requireStorage(objects);
      const waiting = rows.values();
      const staged: StagedCopy[] = [];
      const copyNext = async (): Promise<void> => {
        for (const { id, object_key } of waiting) {
          const key = await reserveObject(db, to, objects.env);
          // The source may be erased meanwhile.
          if (await callStorage(() => storage.copy(object_key ?? "", key))) staged.push({ blob: id, key });
        }
      };
      await Promise.all(Array.from({ length: PARALLEL_COPIES }, copyNext));
      return staged;
    },
    async copy(from, to, ids, given) {
      if (from.tenant !== to.tenant) throw new StoreError("NOT_FOUND", `session ${from.session}`);
      const staged = given ?? (db.isTransaction ? [] : await blobs.stageCopies(from, to, ids));
      return inTransaction(db, async (tx) => {
        await requireSession(tx, from);
        await requireSession(tx, to);
        const rows = await copyRows(tx, from, to, { ids, staged });
        for (const { object_key: key } of rows) if (key !== null) await useObject(tx, key, true);
        return rows.length;
      });
    },
  };
  return blobs;
}

function findRow(db: Db, ref: SessionRef, id: string) {
  return ofSession(db.selectFrom("blobs"), ref)
    .select(["media_type", "name", "size", "body", "object_key", "digest"])
    .where("id", "=", id)
    .executeTakeFirst();
}

async function insertBlob(db: Db, row: Insertable<CoreTables["blobs"]>): Promise<"stored" | "already"> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("blobs")
    .values(row)
    .onConflict((oc) => oc.columns(["tenant_id", "session_id", "id"]).doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n ? "stored" : "already";
}

/** Copies rows with bytes, and rows with objects whose copy is staged. */
async function copyRows(
  tx: Db,
  from: SessionRef,
  to: SessionRef,
  { ids, staged }: { readonly ids: readonly string[]; readonly staged: readonly StagedCopy[] },
) {
  const { rows } = await sql<{ readonly object_key: string | null }>`
    insert into blobs (tenant_id, session_id, id, media_type, name, size, body, digest, object_key)
    select b.tenant_id, ${to.session}, b.id, b.media_type, b.name, b.size, b.body, b.digest, s.key
    from blobs b left join unnest(
      ${staged.map(({ blob }) => blob)}::text[], ${staged.map(({ key }) => key)}::text[]) s (id, key)
      on s.id = b.id and b.object_key is not null
    where b.tenant_id = ${from.tenant} and b.session_id = ${from.session} and b.id = any(${[...ids]}::text[])
      and (b.object_key is null or s.key is not null)
    on conflict (tenant_id, session_id, id) do nothing
    returning object_key`.execute(tx);
  return rows;
}

/** Returns the driver's buffer without a copy if it doesn't share its memory. Small buffers share it and are copied. */
function bytesOf(body: Buffer): Uint8Array {
  return body.byteLength === body.buffer.byteLength ? new Uint8Array(body.buffer) : new Uint8Array(body);
}
