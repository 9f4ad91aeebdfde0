/**
 * `ObjectStorage` is the port of a storage for the bytes of blobs and uploads, such as S3. `StoredObjects` is the
 * sub-port through which the server uses it. The rows of the files stay in the store.
 *
 * Invariant: a row names an object before its first byte is written, and until after its last byte is deleted. So no
 * crash leaves an object that nothing deletes. A key is random, so it can't be guessed, and starts with the names of its
 * tenant and session. An object that a row uses never changes.
 */
import { createHash } from "node:crypto";
import type { Env } from "../../util/env.ts";
import type { SessionRef } from "../../util/refs.ts";

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
 * The sub-port of objects. Without an `ObjectStorage`, all bytes are rows of the store, no file has a key, and no URL
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

export const MAX_SWEPT = 1_000;
/** The size of a page of keys. */
export const LISTED_KEYS = 1_000;

/** All objects of a session have this prefix. Hashed: ids have characters and lengths that a key can't have. */
function objectPrefix({ tenant, session }: SessionRef): string {
  return `${hash(tenant)}/${hash(session)}/`;
}

export function createObjectKey(ref: SessionRef, env: Pick<Env, "randomBytes">): string {
  return `${objectPrefix(ref)}${Buffer.from(env.randomBytes(24)).toString("base64url")}`;
}

function hash(id: string): string {
  return createHash("sha256").update(id).digest("base64url");
}
