/** `auditRowOf` makes an `AuditRow` of a row of `audit_log`. Pure. */
import type { Selectable } from "kysely";
import type { AuditRow } from "../ports/audit.ts";
import type { LedgerTables } from "./schema-ledger.ts";

export type AuditLogRow = Selectable<LedgerTables["audit_log"]>;

export function auditRowOf({
  tenant_id,
  prev_hash,
  key_id,
  period: _period,
  ...rest
}: AuditLogRow): AuditRow {
  return { ...rest, tenant: tenant_id, prevHash: prev_hash, keyId: key_id };
}
