/**
 * The sub-port of what people upload to a session: bytes in chunks, so that nobody needs all of them in memory. An upload
 * that was broken off is begun again from its first chunk, and what the first try still sends is refused. Never looks
 * inside one.
 */
import { StoreError } from "../errors.ts";
import type { Ref } from "../refs.ts";
import { checkCount, checkId, checkText } from "../rules/arguments.ts";

/** The most that one chunk may hold. */
export const MAX_CHUNK_BYTES = 1024 * 1024;

export interface Upload {
  readonly id: string;
  readonly name: string;
  /** As whoever uploads it says. */
  readonly mediaType: string;
  readonly by: string | null;
  /** So far, while it isn't complete. */
  readonly size: number;
  readonly chunks: number;
  readonly isComplete: boolean;
  readonly createdAt: number;
}

export type NewUpload = Pick<Upload, "id" | "name" | "mediaType" | "by">;

export interface Uploads {
  /**
   * Begins one, or begins it again where it isn't complete; "already" when it is.
   * @returns which try it is, and how many bytes the other uploads of the session have
   */
  begin(
    ref: Ref,
    upload: NewUpload,
  ): Promise<{ readonly attempt: number; readonly others: number } | "already">;
  /** The next chunk. Throws CONFLICT for a try that isn't the newest, or once it is complete. */
  add(ref: Ref, id: string, chunk: { readonly attempt: number; readonly bytes: Uint8Array }): Promise<void>;
  /** Throws CONFLICT for a try that isn't the newest. */
  complete(ref: Ref, id: string, attempt: number): Promise<Upload>;
  get(ref: Ref, id: string): Promise<Upload | null>;
  /** Of one that is complete; null past the last. */
  chunk(ref: Ref, id: string, n: number): Promise<Uint8Array | null>;
  /** False when it isn't there. */
  remove(ref: Ref, id: string): Promise<boolean>;
  /** Drops what was begun that long ago and never completed. @returns how many */
  prune(query: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}

export const MAX_PRUNED = 1_000;

/** @returns it as it can be stored */
export function checkUpload({ id, name, mediaType, by }: NewUpload): NewUpload {
  return {
    id: checkId(id, "upload id"),
    name: checkText(name, "name"),
    mediaType: checkText(mediaType, "media type"),
    by: by === null ? null : checkId(by, "by"),
  };
}

export function checkChunk({
  attempt,
  bytes,
}: {
  readonly attempt: number;
  readonly bytes: Uint8Array;
}): void {
  checkCount(attempt, "attempt");
  if (bytes.byteLength === 0 || bytes.byteLength > MAX_CHUNK_BYTES)
    throw new StoreError("TOO_LARGE", `a chunk of ${bytes.byteLength} bytes`);
}

export function superseded(id: string): StoreError {
  return new StoreError("CONFLICT", `upload ${id}`);
}
