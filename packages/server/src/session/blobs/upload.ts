/**
 * `uploadFile` and `readUpload` store and read the uploads of a session. `startUpload` and `completeUpload` store one
 * that a client sends to the object storage itself. They do not inspect the content.
 *
 * Invariants: data is streamed in chunks, so a large upload is never in memory as a whole. An id stands for one
 * content: other bytes under the id of a complete upload are refused. The URL of an upload is only valid in its own
 * session. Limits apply to the declared size before the client sends a byte, and the storage must have exactly that
 * content.
 */
import { createHash } from "node:crypto";
import { isStoreError, StoreError } from "../../store/errors.ts";
import { MAX_CHUNK_BYTES, type Upload } from "../../store/uploads.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { SignedUpload, UploadContent } from "../../store/objects.ts";
import { isId } from "../../util/names.ts";
import type { Backend } from "../backend.ts";
import { LimitExceededError, type OwnerLimits, requireByteLimits } from "../limit-exceeded.ts";

const SCHEME = "turnstream:upload/";

export interface UploadOptions {
  /** Chosen by the caller: an interrupted upload is repeated under the same id. */
  readonly id: string;
  readonly name: string;
  readonly mediaType?: string;
  readonly body: AsyncIterable<Uint8Array>;
  readonly userId: string | null;
}

export interface UploadLimits {
  /** Bytes of one upload. */
  readonly bytes: number;
  /** Bytes of all uploads of a session. */
  readonly sessionBytes: number;
  /** Limits of the user, the API key and the tenant for all sessions. */
  readonly owner: OwnerLimits | null;
}

export const DEFAULT_UPLOAD_LIMITS: UploadLimits = {
  bytes: 100_000_000,
  sessionBytes: 1_000_000_000,
  owner: null,
};

export interface UploadResult {
  /** The `upload` of a file in a form. */
  readonly id: string;
  /** For `content_urls`. */
  readonly url: string;
  readonly name: string;
  readonly mediaType: string;
  readonly size: number;
}

/**
 * Stores an upload, or returns the one that is already complete and has the same name, type and bytes.
 * @throws LimitExceededError beyond the limits of the owner, or StoreError: TOO_LARGE beyond the limits of file and
 * session, NOT_FOUND if the session doesn't exist, or CONFLICT if a newer upload of the same id started, or if the
 * upload of this id has other content
 */
export async function uploadFile(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  options: UploadOptions,
  limits: Partial<UploadLimits> = {},
): Promise<UploadResult> {
  const { bytes, sessionBytes, owner } = { ...DEFAULT_UPLOAD_LIMITS, ...limits };
  const { id, name, mediaType = "", body, userId } = options;
  const apiKey = owner?.owner.apiKey ?? null;
  const started = await store.uploads.begin(ref, { id, name, mediaType, by: userId, apiKey });
  if (started === "already") {
    const there = await store.uploads.get(ref, id);
    if (there === null) throw new StoreError("NOT_FOUND", `upload ${id}`);
    if (there.name !== name || there.mediaType !== mediaType || !(await hasBytes(store, ref, there, body)))
      throw new StoreError("CONFLICT", `upload ${id} has other content`);
    return uploadedOf(there);
  }
  const { attempt, object } = started;
  // The store replaces errors of a stream that it reads.
  let failure: { readonly error: unknown } | null = null;
  async function* added(): AsyncIterable<Uint8Array> {
    try {
      let size = 0;
      for await (const chunk of chunked(body)) {
        size += chunk.byteLength;
        if (size > bytes) throw new StoreError("TOO_LARGE", `upload ${id}`);
        await store.transaction(async (tx) => {
          await tx.uploads.add(ref, id, { attempt, bytes: chunk, maxSessionBytes: sessionBytes });
          if (owner !== null) await requireByteLimits(tx, owner);
        });
        yield chunk;
      }
    } catch (error) {
      failure = { error };
      throw error;
    }
  }
  try {
    if (object === null) for await (const _ of added());
    else await store.objects.write(object, added());
    return uploadedOf(await store.uploads.complete(ref, id, attempt));
  } catch (thrown) {
    const { error } = (failure as { readonly error: unknown } | null) ?? { error: thrown };
    // Remove the incomplete upload now. If that fails, maintenance prunes it later.
    if (object !== null) await store.objects.release(object).catch(() => undefined);
    if (error instanceof LimitExceededError || isStoreError(error, "TOO_LARGE"))
      await store.uploads.remove(ref, id).catch(() => false);
    throw error;
  }
}

export interface StartOptions extends Omit<UploadOptions, "body">, UploadContent {}

/** How long a client may send the content of an upload to the object storage. */
const UPLOAD_URL_MS = 15 * 60 * 1_000;

/**
 * Starts an upload that a client sends to the object storage.
 * @returns what the client must send, or the upload if it is complete, or null if the client must send the bytes to the
 * gateway
 * @throws as `uploadFile`
 */
export async function startUpload(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  { id, name, mediaType = "", userId, size, sha256 }: StartOptions,
  limits: Partial<UploadLimits> = {},
): Promise<SignedUpload | UploadResult | null> {
  const { bytes, sessionBytes, owner } = { ...DEFAULT_UPLOAD_LIMITS, ...limits };
  if (size > bytes) throw new StoreError("TOO_LARGE", `upload ${id}`);
  const apiKey = owner?.owner.apiKey ?? null;
  const declared = { size, sha256, lifeMs: UPLOAD_URL_MS, maxSessionBytes: sessionBytes };
  const started = await store.transaction(async (tx) => {
    const result = await tx.uploads.begin(ref, { id, name, mediaType, by: userId, apiKey, declared });
    if (owner !== null) await requireByteLimits(tx, owner);
    return result;
  });
  if (started === "already") {
    const there = await store.uploads.get(ref, id);
    if (there === null) throw new StoreError("NOT_FOUND", `upload ${id}`);
    const isSame = there.name === name && there.mediaType === mediaType && there.size === size;
    if (!isSame || (await hashUpload(store, ref, there)) !== sha256)
      throw new StoreError("CONFLICT", `upload ${id} has other content`);
    return uploadedOf(there);
  }
  return started.object === null
    ? null
    : store.objects.signUpload(started.object, { size, sha256 }, UPLOAD_URL_MS);
}

/**
 * Completes an upload once the client has sent it to the object storage.
 * @throws StoreError NOT_FOUND, or CONFLICT if the storage doesn't have the declared content
 */
export async function completeUpload(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  id: string,
): Promise<UploadResult> {
  return uploadedOf(await store.uploads.completeDeclared(ref, id));
}

/** Stops at the first chunk that differs. The body is cut into the same chunks as when it was stored. */
async function hasBytes(
  store: Backend["store"],
  ref: SessionRef,
  { id, size }: Upload,
  body: AsyncIterable<Uint8Array>,
): Promise<boolean> {
  let [n, read] = [0, 0];
  for await (const chunk of chunked(body)) {
    const stored = await store.uploads.chunk(ref, id, n++);
    read += chunk.byteLength;
    if (stored === null || Buffer.compare(stored, chunk) !== 0) return false;
  }
  return read === size;
}

async function hashUpload(store: Backend["store"], ref: SessionRef, upload: Upload): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of chunksOf(store, ref, upload)) hash.update(chunk);
  return hash.digest("base64");
}

/** Returns null if the session has no such upload or it is not complete. */
export async function readUpload(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  id: string,
): Promise<(UploadResult & Pick<Upload, "object"> & { readonly body: AsyncIterable<Uint8Array> }) | null> {
  // The id may come from a URL that a user or model wrote.
  if (!isId(id)) return null;
  const upload = await store.uploads.get(ref, id);
  if (upload === null || !upload.isComplete) return null;
  return { ...uploadedOf(upload), object: upload.object, body: chunksOf(store, ref, upload) };
}

/** Returns the id in the URL of an upload, or null for any other URL. */
export function uploadIdOf(url: string): string | null {
  if (!url.startsWith(SCHEME)) return null;
  try {
    return decodeURIComponent(url.slice(SCHEME.length)) || null;
  } catch {
    return null;
  }
}

export function uploadUrl(id: string): string {
  return `${SCHEME}${encodeURIComponent(id)}`;
}

function uploadedOf({ id, name, mediaType, size }: Upload): UploadResult {
  return { id, url: uploadUrl(id), name, mediaType, size };
}

async function* chunksOf(
  store: Backend["store"],
  ref: SessionRef,
  { id, chunks }: Upload,
): AsyncIterable<Uint8Array> {
  for (let n = 0; n < chunks; n++) {
    const chunk = await store.uploads.chunk(ref, id, n);
    // The session was erased during the read.
    if (chunk === null) throw new StoreError("NOT_FOUND", `upload ${id}`);
    yield chunk;
  }
}

/** Merges the small pieces of a network stream into chunks of one size, because each chunk becomes a row. */
async function* chunked(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  // Reused once the previous chunk is stored.
  const chunk = new Uint8Array(MAX_CHUNK_BYTES);
  let filled = 0;
  for await (const bytes of body) {
    for (let at = 0; at < bytes.byteLength;) {
      const part = bytes.subarray(at, at + chunk.byteLength - filled);
      chunk.set(part, filled);
      filled += part.byteLength;
      at += part.byteLength;
      if (filled === chunk.byteLength) {
        yield chunk;
        filled = 0;
      }
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}
