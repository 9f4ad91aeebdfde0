/**
 * The sub-port of what was read from the files of a session: what each one is, and its text in pieces, so that reading a
 * part of a long text never loads the rest. Never fetches and never reads a file.
 */
import { StoreError } from "../errors.ts";
import type { Ref } from "../refs.ts";
import { checkCount, checkId, checkText } from "../rules/check.ts";

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
  /** The turn with whose message it came. */
  readonly turn: string;
  readonly addedAt: number;
}

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
  pieces(ref: Ref, id: string, range: { readonly from: number; readonly limit: number }): Promise<string[]>;
}

export const MAX_LISTED = 1_000;
export const MAX_RANGE = 100;
const MAX_URL = 4_096;

/** @returns it as it can be stored */
export function checkAttachment(given: NewAttachment): NewAttachment {
  const { id, name, url, mediaType, size, turn, text } = given;
  const long = text.find((piece) => piece.length > MAX_PIECE_CHARS);
  if (long !== undefined || text.length > MAX_PIECES || url.length > MAX_URL)
    throw new StoreError("TOO_LARGE", `attachment ${id}`);
  return {
    id: checkId(id, "attachment id"),
    name: checkText(name, "name"),
    url: storable(url),
    mediaType: checkText(mediaType, "media type"),
    size: checkCount(size, "size"),
    turn: checkId(turn, "turn"),
    text: text.map(storable),
  };
}

function storable(text: string): string {
  return Buffer.from(text).toString().replaceAll("\0", "\ufffd");
}
