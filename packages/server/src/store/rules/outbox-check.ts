/** What the outbox takes: only what the log will take too, for a row that it refuses would wait for ever. Pure. */
import { comparePositions, type Cursor, type Position } from "@turnstream/protocol";
import { WRITER_NAME, WRITER_NAME_WORDS } from "../../util/names.ts";
import { checkCursor } from "./arguments.ts";
import { StoreError } from "../errors.ts";
import type { NewOutboxRow } from "../ports/outbox.ts";

const MAX_KEY = 250;
/** An event in the log has at most 64 KiB; this leaves room for its stamp and its key, as much as log/oversize.ts does. */
const MAX_DRAFT_BYTES = 65_536 - 512;

/** @returns the draft as JSON */
export function checkOutboxRow({ key, draft }: NewOutboxRow): string {
  if (key.length > MAX_KEY || !WRITER_NAME.test(key))
    throw new StoreError("INVALID", `an outbox key must be ${WRITER_NAME_WORDS}, at most ${MAX_KEY}`);
  const json = JSON.stringify(draft);
  if (Buffer.byteLength(json) > MAX_DRAFT_BYTES)
    throw new StoreError("TOO_LARGE", `the event of outbox row ${key}`);
  return json;
}

/** From where on an entry can be: the later of what is archived and what the writer knows. */
export function sinceOf(given: Cursor | undefined, archived: Position): Position {
  const since = given === undefined ? archived : checkCursor(given, "since");
  return comparePositions(since, archived) > 0 ? since : archived;
}
