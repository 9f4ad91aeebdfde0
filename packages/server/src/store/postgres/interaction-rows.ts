/** Rows of interactions and their changes, as the port gives them. Reads nothing by itself. */
import type { Selectable } from "kysely";
import type { Interaction, InteractionChange } from "../ports/interactions.ts";
import type { LedgerTables } from "./schema-ledger.ts";

export function interactionOf(row: Selectable<LedgerTables["interactions"]>): Interaction {
  return {
    tenant: row.tenant_id,
    session: row.session_id,
    id: row.id,
    n: row.n,
    kind: row.kind,
    key: row.key,
    turn: row.turn_id,
    run: row.run_id,
    block: row.block_id,
    index: row.item_index,
    call: row.call_id,
    request: row.request,
    digest: row.digest,
    deadline: row.deadline,
    status: row.status,
    version: row.version,
    requestedAt: row.requested_at,
    changedAt: row.changed_at,
  };
}

export function changeOf(row: Selectable<LedgerTables["interaction_changes"]>): InteractionChange {
  return {
    version: row.version,
    status: row.status,
    by: row.by_user,
    reason: row.reason,
    body: row.body,
    at: row.at,
  };
}
