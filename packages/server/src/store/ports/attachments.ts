/**
 * The sub-port of what was read from the files of a session: what each one is, and its text in pieces, so that reading a
 * part of a long text never loads the rest. Never fetches and never reads a file.
 */
import { StoreError } from "../errors.ts";
import type { Ref } from "../refs.ts";
import { checkCount, checkId, checkText } from "../rules/arguments.ts";

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
export interface Piece {
  readonly n: number;
  /** How many characters come before it. */
  readonly at: number;
  /** The number of the line in which it begins, from 1. */
  readonly line: number;
  readonly text: string;
}

/** A character counted from 0, or a line counted from 1. */
export type PlaceInText = { readonly char: number } | { readonly line: number };

export type NewAttachment = Omit<Attachment, "chars" | "pieces" | "addedAt"> & {
  readonly text: readonly string[];
};

export interface Attachments {
  /**
   * "already" when the session has one of this id: the first stays. What UTF-8 or PostgreSQL can't hold of a text is
   * replaced. Throws NOT_FOUND without the session, TOO_LARGE for a piece above MAX_PIECE_CHARS.
   */
  add(ref: Ref, attachment: NewAttachment): Promise<"added" | "already">;
  get(ref: Ref, id: string): Promise<Attachment | null>;
  /** The newest first, at most 1,000. */
  list(ref: Ref, query: { readonly limit: number }): Promise<Attachment[]>;
  /** Pieces of a text from the `from`th on, counted from 0. */
  pieces(ref: Ref, id: string, range: { readonly from: number; readonly limit: number }): Promise<Piece[]>;
  /** The piece in which a character stands, or one from which a line is found by reading on; null without a text. */
  pieceAt(ref: Ref, id: string, place: PlaceInText): Promise<number | null>;
}

export const MAX_LISTED = 1_000;
export const MAX_RANGE = 100;
const MAX_URL = 4_096;

/** @returns it as it can be stored */
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
export function placed(text: readonly string[]): Piece[] {
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
export function isBefore(piece: Pick<Piece, "at" | "line">, place: PlaceInText): boolean {
  // A line may begin in the piece before the first one that stands in it.
  return "char" in place ? piece.at <= place.char : piece.line < place.line;
}

export function checkPlace(place: PlaceInText): PlaceInText {
  if ("char" in place) return { char: checkCount(place.char, "char") };
  return { line: checkCount(place.line, "line") };
}
