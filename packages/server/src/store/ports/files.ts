/**
 * `Uploads`, `Attachments` and `Blobs` are the sub-ports for files of a session: uploaded bytes, extracted text, and
 * large content of events. The file also has the checks that both stores use. None of them interprets the content.
 *
 * Invariant: chunks and pieces are bounded, so no process needs a whole upload or text in memory. Stored attachments,
 * blobs and complete uploads never change. Only the newest attempt at an upload can add chunks. The bytes of a session's
 * uploads are counted in the transaction that adds a chunk or declares a size, so that concurrent uploads can't exceed a
 * limit together. With an object storage, only the bytes are there (`objects.ts`).
 */
import { StoreError } from "../errors.ts";
import type { SessionRef } from "../../util/refs.ts";
import { checkCount, checkDuration, checkId, checkText } from "../rules/arguments.ts";
import type { UploadContent } from "./objects.ts";

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
 * The sub-port of uploads to a session. Bytes come in chunks, so that no process needs all of them in memory. An
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

export const MAX_PRUNED = 1_000;

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

/** Maximum length of one piece, in characters. */
export const MAX_PIECE_CHARS = 64_000;
const MAX_PIECES = 10_000;

export interface Attachment {
  readonly id: string;
  readonly name: string;
  /** Where the file came from. */
  readonly url: string;
  readonly mediaType: string;
  /** Size of the original file in bytes. */
  readonly size: number;
  /** Length of the text. 0 for a file without text, such as a picture. */
  readonly chars: number;
  readonly pieces: number;
  /** True if only the start of the text is stored. */
  readonly isCut: boolean;
  /** The turn of the message that the file came with. */
  readonly turn: string;
  readonly addedAt: number;
}

/** A piece of a text, with its position. */
export interface TextChunk {
  readonly n: number;
  /** How many characters precede it. */
  readonly at: number;
  /** The number of the line in which the piece starts, counted from 1. */
  readonly line: number;
  readonly text: string;
}

/** A character counted from 0, or a line counted from 1. */
export type TextPosition = { readonly char: number } | { readonly line: number };

export type NewAttachment = Omit<Attachment, "chars" | "pieces" | "addedAt"> & {
  readonly text: readonly string[];
};

/**
 * The sub-port of text that was extracted from the files of a session. A text is stored in pieces, so that reading a
 * part never loads the rest. Does not fetch or parse files.
 */
export interface Attachments {
  /**
   * Stores an attachment. Returns "already" if the session has this id; the first one stays. Characters that UTF-8 or
   * PostgreSQL can't represent are replaced.
   * @throws StoreError with NOT_FOUND if the session does not exist, with TOO_LARGE for a piece above MAX_PIECE_CHARS.
   */
  add(ref: SessionRef, attachment: NewAttachment): Promise<"added" | "already">;
  get(ref: SessionRef, id: string): Promise<Attachment | null>;
  /** Returns attachments, newest first, at most 1,000. */
  list(ref: SessionRef, query: { readonly limit: number }): Promise<Attachment[]>;
  /** Returns pieces of a text from index `from` on, counted from 0. */
  pieces(
    ref: SessionRef,
    id: string,
    range: { readonly from: number; readonly limit: number },
  ): Promise<TextChunk[]>;
  /**
   * Returns the piece that contains a character, or a piece from which reading on finds the line. Returns null without
   * a text.
   */
  pieceAt(ref: SessionRef, id: string, place: TextPosition): Promise<number | null>;
}

export const MAX_LISTED = 1_000;
export const MAX_RANGE = 100;
const MAX_URL = 4_096;

/** @returns the attachment with texts that can be stored */
export function checkAttachment(given: NewAttachment): NewAttachment {
  const { id, name, url, mediaType, size, isCut, turn, text } = given;
  const long = text.find((piece) => piece.length > MAX_PIECE_CHARS);
  if (long !== undefined || text.length > MAX_PIECES || url.length > MAX_URL)
    throw new StoreError("TOO_LARGE", `attachment ${id}`);
  return {
    id: checkId(id, "attachment id"),
    name: checkText(name, "name"),
    url: storable(url),
    mediaType: checkText(mediaType, "media type"),
    size: checkCount(size, "size"),
    isCut,
    turn: checkId(turn, "turn"),
    text: text.map(storable),
  };
}

function storable(text: string): string {
  return Buffer.from(text).toString().replaceAll("\0", "\ufffd");
}

/** Adds the positions to the pieces of a text. */
export function locateText(text: readonly string[]): TextChunk[] {
  let at = 0;
  let line = 1;
  return text.map((piece, n) => {
    const here = { n, at, line, text: piece };
    at += piece.length;
    line += piece.split("\n").length - 1;
    return here;
  });
}

/** True if a piece does not start after the position. The last such piece contains it. */
export function isBeforeRange(piece: Pick<TextChunk, "at" | "line">, place: TextPosition): boolean {
  // A line may start in the piece before the first one whose start is in that line, hence `<`.
  return "char" in place ? piece.at <= place.char : piece.line < place.line;
}

export function checkTextPosition(place: TextPosition): TextPosition {
  if ("char" in place) return { char: checkCount(place.char, "char") };
  return { line: checkCount(place.line, "line") };
}

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

/** The sub-port of blobs: the full content of which an event has only a preview. */
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
