/** Attachments in memory. */
import type { Env } from "../../util/env.ts";
import {
  type Attachment,
  type Attachments,
  checkAttachment,
  checkPlace,
  isBefore,
  MAX_LISTED,
  MAX_RANGE,
  type Piece,
  placed,
} from "../ports/attachments.ts";
import { checkCount, checkLimit } from "../rules/arguments.ts";
import { requireSession, sessionRow } from "./session-rows.ts";
import { type MemoryTables, table } from "./tables.ts";

interface Row {
  readonly n: number;
  readonly attachment: Attachment;
  readonly pieces: readonly Piece[];
}

const ATTACHMENTS = table<Row>("attachments", "session");

export function memoryAttachments(tables: MemoryTables, env: Env): Attachments {
  return {
    add: (ref, given) =>
      tables.run((rows) => {
        const { text, ...rest } = checkAttachment(given);
        requireSession(rows, ref);
        if (rows.get(ATTACHMENTS, ref.session, rest.id) !== undefined) return "already";
        const chars = text.reduce((sum, piece) => sum + piece.length, 0);
        const attachment = { ...rest, chars, pieces: text.length, addedAt: env.now() };
        rows.put(ATTACHMENTS, ref.session, rest.id, {
          n: rows.next("attachments"),
          attachment,
          pieces: placed(text),
        });
        return "added";
      }),
    get: (ref, id) =>
      tables.run((rows) => {
        if (sessionRow(rows, ref) === undefined) return null;
        return rows.get(ATTACHMENTS, ref.session, id)?.attachment ?? null;
      }),
    list: (ref, query) =>
      tables.run((rows) => {
        const limit = checkLimit(query.limit, MAX_LISTED);
        if (sessionRow(rows, ref) === undefined) return [];
        const found = rows.of(ATTACHMENTS, ref.session).toSorted((a, b) => b.n - a.n);
        return found.slice(0, limit).map(({ attachment }) => attachment);
      }),
    pieces: (ref, id, range) =>
      tables.run((rows) => {
        const from = checkCount(range.from, "from");
        const limit = checkLimit(range.limit, MAX_RANGE);
        if (sessionRow(rows, ref) === undefined) return [];
        return rows.get(ATTACHMENTS, ref.session, id)?.pieces.slice(from, from + limit) ?? [];
      }),
    pieceAt: (ref, id, given) =>
      tables.run((rows) => {
        const place = checkPlace(given);
        const pieces = sessionRow(rows, ref) && rows.get(ATTACHMENTS, ref.session, id)?.pieces;
        if (pieces === undefined || pieces.length === 0) return null;
        return pieces.findLast((piece) => isBefore(piece, place))?.n ?? 0;
      }),
  };
}
