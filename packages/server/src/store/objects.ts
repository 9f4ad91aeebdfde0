/**
 * `ObjectStorage` is the port of a storage for the bytes of blobs and uploads, such as S3. `StoredObjects` is the part
 * of the store through which the server uses it. `reserveObject` and `useObject` connect an object with a file.
 *
 * Invariant: `reserveObject` is committed before the first byte is written, `useObject` together with the row of the
 * file, and the row of an object is deleted only after its bytes, when nothing could write them any more. So no crash
 * leaves an object that nothing deletes. One process at a time works on a row that is due, and a failure makes it due
 * again. A key is random, so it can't be guessed, and starts with the names of its tenant and session. An object that a
 * row uses never changes.
 */
import { sql } from "kysely";
import { createHash } from "node:crypto";
import type { Env } from "../util/env.ts";
import type { SessionRef } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import { clockPlus, rowOf, clock, ago } from "./database/session-row.ts";
import { StoreError } from "./errors.ts";
import { checkLimit, checkDuration, MAX_BATCH } from "./rules/arguments.ts";

export interface ObjectInfo {
  readonly size: number;
  /** SHA-256 of the content in base64, if the storage has compared it with the content. */
  readonly sha256: string | null;
}

/** Bytes from `start` on, before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** What a client sends to the storage. The storage must refuse any other content, method or header. */
export interface SignedUpload {
  readonly url: string;
  readonly method: "PUT";
  readonly headers: Readonly<Record<string, string>>;
}

export interface UploadContent {
  readonly size: number;
  /** SHA-256 of the content in base64. */
  readonly sha256: string;
}

/** Headers with which the storage must answer a download. */
export interface DownloadHeaders {
  readonly contentType: string;
  readonly contentDisposition: string;
  readonly cacheControl: string;
}

/** Every method rejects if the storage can't be reached. Repeating a call is safe. */
export interface ObjectStorage {
  /** Stores an object, or replaces it. Nothing is stored if `body` throws. */
  put(key: string, body: Uint8Array | AsyncIterable<Uint8Array>): Promise<void>;
  /** Returns the content, or null if there is no such object. */
  get(key: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | null>;
  head(key: string): Promise<ObjectInfo | null>;
  /** Returns false if there is no such object. */
  copy(from: string, to: string): Promise<boolean>;
  /** Deletes objects. A missing one is no error. */
  delete(keys: readonly string[]): Promise<void>;
  /** Deletes all objects whose key starts with `prefix`, and what interrupted writes have left there. */
  deletePrefix(prefix: string): Promise<void>;
  /** Returns keys in ascending order, with the time of the last change. */
  list(page: {
    readonly after: string;
    readonly limit: number;
  }): Promise<readonly { readonly key: string; readonly changedAt: number }[]>;
  /** Returns what a client must send to store this content, or null if clients must send it to the gateway. */
  signUpload(key: string, content: UploadContent, lifeMs: number): Promise<SignedUpload | null>;
  /** Returns a URL of the object, or null if the gateway must send the content. */
  signDownload(key: string, headers: DownloadHeaders, lifeMs: number): Promise<string | null>;
}

/**
 * The part of the store for objects. Without an `ObjectStorage`, all bytes are rows of the store, no file has a key, and no URL
 * is signed.
 */
export interface StoredObjects {
  /** Writes the bytes of an upload to its object. */
  write(key: string, body: AsyncIterable<Uint8Array>): Promise<void>;
  /** Lets an object be deleted, after its writer has failed. Has no effect if a file uses the object. */
  release(key: string): Promise<void>;
  signUpload(key: string, content: UploadContent, lifeMs: number): Promise<SignedUpload | null>;
  signDownload(key: string, headers: DownloadHeaders, lifeMs: number): Promise<string | null>;
  /**
   * Deletes objects that no row uses: those of erased sessions, of removed uploads and of writes that never ended. An
   * object that can't be deleted now is tried again later. An object that a process or a signed URL may still write is
   * deleted once more when it no longer can.
   * @returns how many were deleted
   */
  sweep(query: { readonly limit: number }): Promise<number>;
  /**
   * Looks for objects without a row, which exist after a restore of an older backup. Only for a storage that no other
   * database uses.
   * @returns the keys of one page, and the key to continue after, or null after the last page
   */
  findUnknown(query: {
    readonly after: string | null;
    readonly olderThanMs: number;
  }): Promise<{ readonly keys: readonly string[]; readonly next: string | null }>;
  /** Deletes objects that `findUnknown` has returned, unless they have a row now. */
  deleteUnknown(keys: readonly string[]): Promise<number>;
}

/** The size of a page of keys. */
export const LISTED_KEYS = 1_000;

/** Hashes the ids, because they have characters and lengths that a key can't have. */
export function createObjectKey({ tenant, session }: SessionRef, env: Pick<Env, "randomBytes">): string {
  return `${hash(tenant)}/${hash(session)}/${Buffer.from(env.randomBytes(24)).toString("base64url")}`;
}

function hash(id: string): string {
  return createHash("sha256").update(id).digest("base64url");
}

/** Where new bytes go. Without a storage they are rows. */
export interface ObjectContext {
  readonly storage: ObjectStorage | null;
  readonly env: Env;
}

/** How long a process may write an object. Longer than any request to the storage. */
export const WRITE_MS = 60 * 60 * 1_000;

/** How long one process works on a row that is due, before another one may. */
const CLAIM_MS = 2 * 60 * 1_000;

/** A request that timed out, or that was repeated, may still arrive for some time. */
const LATE_MS = 5 * 60 * 1_000;

const soon = sql<Date>`least(writable_until, ${clockPlus(LATE_MS)})`;

/** Adds the row of a new object, which is deleted if no file uses it in time. @returns its key */
export async function reserveObject(
  db: Db,
  ref: SessionRef,
  env: Env,
  writableMs = WRITE_MS,
): Promise<string> {
  const key = createObjectKey(ref, env);
  const until = clockPlus(writableMs);
  await db
    .insertInto("stored_objects")
    .values({ key, ...rowOf(ref), due_at: until, writable_until: until })
    .execute();
  return key;
}

/** Gives a process more time to write an object. */
export async function extendObject(tx: Db, key: string): Promise<void> {
  const until = clockPlus(WRITE_MS);
  await tx
    .updateTable("stored_objects")
    .set({ due_at: until, writable_until: until })
    .where("key", "=", key)
    .where("deleting", "=", false)
    .execute();
}

/**
 * Marks an object as used by a file.
 * @param isClosed whether nothing can write the object any more
 * @throws StoreError with CONFLICT if the object is already being deleted, because its write took too long
 */
export async function useObject(tx: Db, key: string, isClosed: boolean): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable("stored_objects")
    .set({ due_at: null, used: true, ...(isClosed ? { writable_until: soon } : {}) })
    .where("key", "=", key)
    .where("deleting", "=", false)
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) throw new StoreError("CONFLICT", "the object of a file");
}

/**
 * Marks an object that its writer has stopped to write. Has no effect if a file uses it: an error at the end of a
 * transaction doesn't show whether it was committed.
 */
export async function releaseObject(db: Db, key: string): Promise<void> {
  await db
    .updateTable("stored_objects")
    .set({ deleting: true, due_at: clock, writable_until: soon })
    .where("key", "=", key)
    .where("used", "=", false)
    .execute();
}

/** @throws StoreError with UNAVAILABLE for an error of the storage */
export async function callStorage<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const system = error instanceof Error ? error.name : null;
    throw new StoreError("UNAVAILABLE", "object storage", { system });
  }
}

/** @throws StoreError with UNAVAILABLE if a file is in an object storage that this process doesn't have */
export function requireStorage({ storage }: ObjectContext): ObjectStorage {
  if (storage === null) throw new StoreError("UNAVAILABLE", "object storage: the store has none");
  return storage;
}

/** Returns null if the object was deleted meanwhile. */
export function readObject(
  context: ObjectContext,
  key: string,
  range?: ByteRange,
): Promise<Uint8Array | null> {
  const storage = requireStorage(context);
  return callStorage(async () => {
    const body = await storage.get(key, range);
    if (body === null) return null;
    const parts: Uint8Array[] = [];
    for await (const part of body) parts.push(part);
    return new Uint8Array(Buffer.concat(parts));
  });
}

export function postgresObjects(db: Db, context: ObjectContext): StoredObjects {
  const { storage } = context;
  return {
    async write(key, body) {
      const target = requireStorage(context);
      await callStorage(() => target.put(key, body));
    },
    release: (key) => releaseObject(db, key),
    signUpload: async (key, content, lifeMs) =>
      storage === null ? null : callStorage(() => storage.signUpload(key, content, lifeMs)),
    signDownload: async (key, headers, lifeMs) =>
      storage === null ? null : callStorage(() => storage.signDownload(key, headers, lifeMs)),
    async sweep(query) {
      const limit = checkLimit(query.limit, MAX_BATCH);
      if (storage === null) return 0;
      const claimed = await claimDue(db, limit);
      if (claimed.length === 0) return 0;
      const keys = claimed.map(({ key }) => key);
      const written = claimed.filter(({ used }) => used).map(({ key }) => key);
      if (written.length > 0) await callStorage(() => storage.delete(written));
      // An interrupted write may have left parts.
      for (const { key, used } of claimed) if (!used) await callStorage(() => storage.deletePrefix(key));
      const listed = sql<boolean>`key = any(${keys}::text[]) and deleting`;
      await db.deleteFrom("stored_objects").where(listed).where("writable_until", "<", ago(0)).execute();
      await db
        .updateTable("stored_objects")
        .set({ due_at: sql<Date>`writable_until` })
        .where(listed)
        .execute();
      return keys.length;
    },
    async findUnknown({ after, olderThanMs }) {
      checkDuration(olderThanMs, "olderThanMs");
      if (storage === null) return { keys: [], next: null };
      const listed = await callStorage(() => storage.list({ after: after ?? "", limit: LISTED_KEYS }));
      const before = context.env.now() - olderThanMs;
      const old = listed.filter(({ changedAt }) => changedAt < before).map(({ key }) => key);
      return { keys: await withoutRow(db, old), next: listed.at(-1)?.key ?? null };
    },
    async deleteUnknown(keys) {
      if (storage === null) return 0;
      const unknown = await withoutRow(db, keys);
      if (unknown.length > 0) await callStorage(() => storage.delete(unknown));
      return unknown.length;
    },
  };
}

/** After the claim, no file can use the object any more. */
async function claimDue(db: Db, limit: number) {
  const { rows } = await sql<{ readonly key: string; readonly used: boolean }>`
    update stored_objects o set deleting = true, due_at = ${clockPlus(CLAIM_MS)}
    from (select key from stored_objects
      where due_at <= ${ago(0)} order by due_at limit ${limit} for update skip locked) due
    where o.key = due.key returning o.key, o.used`.execute(db);
  return rows;
}

async function withoutRow(db: Db, keys: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom("stored_objects")
    .select("key")
    .where(sql<boolean>`key = any(${[...keys]}::text[])`)
    .execute();
  const known = new Set(rows.map(({ key }) => key));
  return keys.filter((key) => !known.has(key));
}
