/** The table of migration 0004 as Kysely sees it. Types only. */
import type { Json } from "@turnstream/protocol";
import type { ColumnType } from "kysely";
import type { JsonColumn } from "./schema.ts";

export interface FormTables {
  form_drafts: {
    session_id: string;
    interaction_id: string;
    body: JsonColumn<Json>;
    version: number;
    saved_at: ColumnType<number, Date | number, Date | number>;
  };
}
