/**
 * `postgresAudit` and `postgresUsage` implement the audit and the usage ledger on PostgreSQL.
 *
 * Invariant: the head's row is locked while an audit row is added, so the chain of a tenant never forks. An optional
 * row is added after a savepoint, so that its failure doesn't undo what it is about. One statement marks a usage key and
 * adds its counts, so a repeat adds nothing.
 */
import { sql } from "kysely";
import {
  type Audit,
  type AuditEntry,
  type AuditHead,
  type AuditRow,
  MAX_USAGE,
  type UsageLedger,
} from "../ports/audit.ts";
import { checkCount, checkDuration } from "../rules/arguments.ts";
import { needsAudit } from "../rules/audit-actions.ts";
import { type ResolvedAuditOptions, reportLostEntry } from "../audit-options.ts";
import { checkAuditEntry, nextAuditRow, EMPTY_AUDIT_HEAD } from "../rules/audit.ts";
import { checkDay, checkPage, checkUsage } from "../rules/ledger-arguments.ts";
import type { Db } from "./database.ts";
import { toStoreError } from "./errors.ts";
import { ago, inTransaction } from "./session-row.ts";
import { postgresUserNumbers } from "./sessions.ts";

export function postgresAudit(db: Db, options: ResolvedAuditOptions): Audit {
  const add = (tx: Db, tenant: string, entry: AuditEntry): Promise<AuditRow | null> =>
    needsAudit(entry.action) ? addRow(tx, tenant, entry, options) : tryAddRow(tx, tenant, entry, options);
  return {
    add: (tenant, entry) => inTransaction(db, (tx) => add(tx, tenant, entry)),

    addOnce: (tenant, mark, entry) =>
      inTransaction(db, async (tx) => {
        const { numInsertedOrUpdatedRows } = await tx
          .insertInto("usage_marks")
          .values({ tenant_id: tenant, key: `audit:${mark}` })
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirst();
        return numInsertedOrUpdatedRows === 0n ? null : add(tx, tenant, entry);
      }),

    async list(tenant, { after, limit }) {
      const rows = await db
        .selectFrom("audit_log")
        .selectAll()
        .where("tenant_id", "=", tenant)
        .where("n", ">", checkCount(after, "after"))
        .orderBy("n")
        .limit(checkPage(limit))
        .execute();
      return rows.map(({ tenant_id, prev_hash, key_id, ...rest }): AuditRow => ({
        ...rest,
        tenant: tenant_id,
        prevHash: prev_hash,
        keyId: key_id,
      }));
    },

    async head(tenant) {
      const row = await db
        .selectFrom("audit_heads")
        .select(["n", "hash"])
        .where("tenant_id", "=", tenant)
        .executeTakeFirst();
      return row ?? null;
    },
  };
}

async function addRow(
  tx: Db,
  tenant: string,
  entry: AuditEntry,
  { key }: ResolvedAuditOptions,
): Promise<AuditRow> {
  checkAuditEntry(entry);
  // Before the head is locked, because it may wait for another row of the same user.
  const actor = entry.actor === null ? null : await postgresUserNumbers(tx).numberOf(tenant, entry.actor);
  const { at, ...head } = await lockHead(tx, tenant);
  const row = nextAuditRow(entry, { tenant, head, at, actor, key });
  const { prevHash, keyId, tenant: tenant_id, ...rest } = row;
  await tx
    .insertInto("audit_log")
    .values({ ...rest, tenant_id, prev_hash: prevHash, key_id: keyId })
    .execute();
  await tx
    .updateTable("audit_heads")
    .set({ n: row.n, hash: row.hash })
    .where("tenant_id", "=", tenant)
    .execute();
  return row;
}

/** Throws only if the connection is lost. Then the transaction is lost too. */
async function tryAddRow(
  tx: Db,
  tenant: string,
  entry: AuditEntry,
  options: ResolvedAuditOptions,
): Promise<AuditRow | null> {
  await sql`savepoint audit_entry`.execute(tx);
  try {
    const row = await addRow(tx, tenant, entry, options);
    await sql`release savepoint audit_entry`.execute(tx);
    return row;
  } catch (error) {
    await sql`rollback to savepoint audit_entry`.execute(tx);
    reportLostEntry(toStoreError(error, "audit.add"), entry, options.onError);
    return null;
  }
}

async function lockHead(tx: Db, tenant: string): Promise<AuditHead & { at: number }> {
  const locked = () =>
    tx
      .selectFrom("audit_heads")
      .select(["n", "hash", sql<number>`clock_timestamp()`.as("at")])
      .where("tenant_id", "=", tenant)
      .forUpdate();
  const there = await locked().executeTakeFirst();
  if (there !== undefined) return there;
  await tx
    .insertInto("audit_heads")
    .values({ tenant_id: tenant, ...EMPTY_AUDIT_HEAD })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return await locked().executeTakeFirstOrThrow();
}

/** One statement marks a key as counted and adds the counts. */
export function postgresUsage(db: Db): UsageLedger {
  return {
    async add(tenant, usage) {
      const model = checkUsage(usage);
      const { key, day = null, turns, calls, input_tokens, output_tokens, total_tokens } = usage;
      const { rows } = await sql`
        with mark as (
          insert into usage_marks (tenant_id, key) values (${tenant}, ${key})
          on conflict do nothing returning tenant_id
        )
        insert into usage_days as d
          (tenant_id, day, model, turns, calls, input_tokens, output_tokens, total_tokens)
        select tenant_id, coalesce(${day}::text, to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD')),
          ${model}::text, ${turns}::bigint, ${calls}::bigint, ${input_tokens}::bigint, ${output_tokens}::bigint,
          ${total_tokens}::bigint
        from mark
        on conflict (tenant_id, day, model) do update set
          turns = least(d.turns + excluded.turns, ${MAX_USAGE}::bigint),
          calls = least(d.calls + excluded.calls, ${MAX_USAGE}::bigint),
          input_tokens = least(d.input_tokens + excluded.input_tokens, ${MAX_USAGE}::bigint),
          output_tokens = least(d.output_tokens + excluded.output_tokens, ${MAX_USAGE}::bigint),
          total_tokens = least(d.total_tokens + excluded.total_tokens, ${MAX_USAGE}::bigint)
        returning day`.execute(db);
      return rows.length > 0;
    },

    async list(tenant, from, to) {
      checkDay(from);
      checkDay(to);
      return await db
        .selectFrom("usage_days")
        .select(["day", "model", "turns", "calls", "input_tokens", "output_tokens", "total_tokens"])
        .where("tenant_id", "=", tenant)
        .where("day", ">=", from)
        .where("day", "<=", to)
        .orderBy("day")
        .orderBy("model")
        .execute();
    },

    async pruneMarks({ olderThanMs, limit }) {
      const { numDeletedRows } = await db
        .deleteFrom("usage_marks")
        .where((eb) =>
          eb(
            eb.refTuple("tenant_id", "key"),
            "in",
            eb
              .selectFrom("usage_marks")
              .select(["tenant_id", "key"])
              .where("marked_at", "<=", ago(checkDuration(olderThanMs, "olderThanMs")))
              .orderBy("marked_at")
              .limit(checkPage(limit))
              .$asTuple("tenant_id", "key"),
          ),
        )
        .executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}
