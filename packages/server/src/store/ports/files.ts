/**
 * The sub-port of what people upload to a session: bytes in chunks, so that nobody needs all of them in memory. An upload
 * that was broken off is begun again from its first chunk, and what the first try still sends is refused. Never looks
 * inside one.
 */
import { StoreError } from "../errors.ts";
import type { SessionRef } from "../refs.ts";
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
    ref: SessionRef,
    upload: NewUpload,
  ): Promise<{ readonly attempt: number; readonly others: number } | "already">;
  /** The next chunk. Throws CONFLICT for a try that isn't the newest, or once it is complete. */
  add(
    ref: SessionRef,
    id: string,
    chunk: { readonly attempt: number; readonly bytes: Uint8Array },
  ): Promise<void>;
  /** Throws CONFLICT for a try that isn't the newest. */
  complete(ref: SessionRef, id: string, attempt: number): Promise<Upload>;
  get(ref: SessionRef, id: string): Promise<Upload | null>;
  /** Of one that is complete; null past the last. */
  chunk(ref: SessionRef, id: string, n: number): Promise<Uint8Array | null>;
  /** False when it isn't there. */
  remove(ref: SessionRef, id: string): Promise<boolean>;
  /** Drops what was begun that long ago and never completed. @returns how many */
  prune(query: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}

export const MAX_PRUNED = 1_000;

/** @returns it can be stored */
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

export function uploadSuperseded(id: string): StoreError {
  return new StoreError("CONFLICT", `upload ${id}`);
}

/**
 * The sub-port of what was read from the files of a session: what each one is, and its text in pieces, so that reading a
 * part of a long text never loads the rest. Never fetches and never reads a file.
 */
/** The most that one piece may hold, in characters. */
export const MAX_PIECE_CHARS = 64_000;
const MAX_PIECES = 10_000;

export interface Attachment {
  readonly id: string;
  readonly name: string;
  /** Where it came from. */
  readonly url: string;
  readonly mediaType: string;
  /** Its size in bytes, as it came. */
  readonly size: number;
  /** The length of its text, and how many pieces it has. None for a picture, say. */
  readonly chars: number;
  readonly pieces: number;
  /** Its text went on: only the beginning is kept. */
  readonly isCut: boolean;
  /** The turn with whose message it came. */
  readonly turn: string;
  readonly addedAt: number;
}

/** A piece of a text, and where it stands in it. */
export interface TextChunk {
  readonly n: number;
  /** How many characters come before it. */
  readonly at: number;
  /** The number of the line in which it begins, from 1. */
  readonly line: number;
  readonly text: string;
}

/** A character counted from 0, or a line counted from 1. */
export type TextPosition = { readonly char: number } | { readonly line: number };

export type NewAttachment = Omit<Attachment, "chars" | "pieces" | "addedAt"> & {
  readonly text: readonly string[];
};

export interface Attachments {
  /**
   * "already" when the session has one of this id: the first stays. What UTF-8 or PostgreSQL can't hold of a text is
   * replaced. Throws NOT_FOUND without the session, TOO_LARGE for a piece above MAX_PIECE_CHARS.
   */
  add(ref: SessionRef, attachment: NewAttachment): Promise<"added" | "already">;
  get(ref: SessionRef, id: string): Promise<Attachment | null>;
  /** The newest first, at most 1,000. */
  list(ref: SessionRef, query: { readonly limit: number }): Promise<Attachment[]>;
  /** Pieces of a text from the `from`th on, counted from 0. */
  pieces(
    ref: SessionRef,
    id: string,
    range: { readonly from: number; readonly limit: number },
  ): Promise<TextChunk[]>;
  /** The piece in which a character stands, or one from which a line is found by reading on; null without a text. */
  pieceAt(ref: SessionRef, id: string, place: TextPosition): Promise<number | null>;
}

export const MAX_LISTED = 1_000;
export const MAX_RANGE = 100;
const MAX_URL = 4_096;

/** @returns it can be stored */
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

/** The pieces of a text with their places. */
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

/** Whether a piece is not past what is looked for: of those that are not, the last is meant. */
export function isBeforeRange(piece: Pick<TextChunk, "at" | "line">, place: TextPosition): boolean {
  // A line may begin in the piece before the first one that stands in it.
  return "char" in place ? piece.at <= place.char : piece.line < place.line;
}

export function checkTextPosition(place: TextPosition): TextPosition {
  if ("char" in place) return { char: checkCount(place.char, "char") };
  return { line: checkCount(place.line, "line") };
}

/** The sub-port of blobs: the whole of what an event only holds a preview of. Never looks inside one. */
/** The most that one blob may hold. */
export const MAX_BLOB_BYTES = 64 * 1024 * 1024;

export interface StoredBlob {
  readonly id: string;
  readonly mediaType: string;
  /** What a download of it is called. */
  readonly name?: string;
  readonly body: Uint8Array;
}

export interface Blobs {
  /**
   * "already" when the session has a blob of this id: the first stays. Throws TOO_LARGE above MAX_BLOB_BYTES,
   * NOT_FOUND without the session.
   */
  put(ref: SessionRef, blob: StoredBlob): Promise<"stored" | "already">;
  get(ref: SessionRef, id: string): Promise<StoredBlob | null>;
  /** Copies blobs of a session into another of the same tenant, under the same ids; @returns how many. */
  copy(from: SessionRef, to: SessionRef, ids: readonly string[]): Promise<number>;
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
