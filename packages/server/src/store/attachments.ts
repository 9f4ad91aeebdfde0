/**
 * `Attachments` is the part of the store for texts of attached files, and `postgresAttachments` its implementation.
 *
 * Invariant: pieces are bounded rows of their own, so reading a part never loads the rest. A stored attachment never
 * changes. Every statement names the tenant and the session.
 */
import { sql } from "kysely";
import type { SessionRef } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import { inTransaction, lockSessionRow, rowOf, ofSession } from "./database/session-row.ts";
import { StoreError } from "./errors.ts";
import { checkId, checkText, checkCount, checkLimit, MAX_PAGE } from "./rules/arguments.ts";

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
 * The part of the store for text that was extracted from the files of a session. A text is stored in pieces, so that reading a
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

export function checkTextPosition(place: TextPosition): TextPosition {
  if ("char" in place) return { char: checkCount(place.char, "char") };
  return { line: checkCount(place.line, "line") };
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
      return (await attachmentsOf(db, ref).where("id", "=", id).executeTakeFirst()) ?? null;
    },
    async list(ref, query) {
      const limit = checkLimit(query.limit, MAX_LISTED);
      return attachmentsOf(db, ref).orderBy("n", "desc").limit(limit).execute();
    },
    async pieces(ref, id, range) {
      const from = checkCount(range.from, "from");
      const limit = checkLimit(range.limit, MAX_PAGE);
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

function attachmentsOf(db: Db, ref: SessionRef) {
  return ofSession(db.selectFrom("attachments"), ref)
    .select(["id", "name", "url", "size", "chars", "pieces", "turn"])
    .select(["media_type as mediaType", "is_cut as isCut", "added_at as addedAt"]);
}
