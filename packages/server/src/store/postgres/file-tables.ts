/** The tables of migrations 0006 and 0010 as Kysely sees them. Types only. */
import type { ColumnType, Generated, GeneratedAlways } from "kysely";
import type { Time } from "./schema.ts";

export interface FileTables {
  attachments: {
    session_id: string;
    id: string;
    n: GeneratedAlways<number>;
    turn: string;
    name: string;
    url: string;
    media_type: string;
    size: number;
    chars: number;
    pieces: number;
    is_cut: boolean;
    added_at: Time;
  };
  attachment_pieces: {
    session_id: string;
    attachment_id: string;
    n: number;
    at: number;
    line: number;
    text: string;
  };
  uploads: {
    session_id: string;
    id: string;
    name: string;
    media_type: string;
    by_user: string | null;
    attempt: Generated<number>;
    size: Generated<number>;
    chunks: Generated<number>;
    complete: Generated<boolean>;
    created_at: Time;
  };
  upload_chunks: {
    session_id: string;
    upload_id: string;
    n: number;
    bytes: ColumnType<Buffer, Uint8Array, never>;
  };
}
