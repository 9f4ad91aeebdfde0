/** Reads rows of the outbox, with the tenant that each belongs to. Never changes one. */
import { formatCursor } from "@turnstream/protocol";
import type { OutboxRow } from "../ports/outbox.ts";
import type { Db } from "./database.ts";

export function outboxRows(db: Db) {
  return db
    .selectFrom("outbox")
    .innerJoin("sessions", "sessions.id", "outbox.session_id")
    .select([
      "outbox.id",
      "tenant_id",
      "session_id",
      "key",
      "draft",
      "since_epoch",
      "since_seq",
      "attempts",
      "outbox.created_at",
    ]);
}

type Row = Awaited<ReturnType<ReturnType<typeof outboxRows>["execute"]>>[number];

export function outboxRowOf(row: Row): OutboxRow {
  return {
    id: row.id,
    tenant: row.tenant_id,
    session: row.session_id,
    key: row.key,
    draft: row.draft,
    since: formatCursor({ epoch: row.since_epoch, seq: row.since_seq }),
    attempts: row.attempts,
    createdAt: row.created_at,
  };
}
