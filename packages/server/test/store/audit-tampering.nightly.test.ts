/** Tests the audit on a real PostgreSQL server against an attacker who can disable its triggers. */
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { AuditHead, AuditRow } from "../../src/store/audit.ts";
import { signCheckpoint } from "../../../cli/src/audit/audit-checkpoint.ts";
import { type AuditKey, hashAuditRow, parseAuditKeys } from "../../src/store/audit.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";
import {
  type AuditFaultKind,
  type AuditVerdict,
  verifyTenantAudit,
  type VerifyOptions,
} from "../../../cli/src/audit/verify-audit.ts";
import { postgresAudit } from "../../src/store/audit-sql.ts";
import type { Db } from "../../src/store/database/database.ts";
import { newTenant, noteLostEntry } from "./harness.ts";
import { postgresHarness, type PostgresHarness } from "./postgres-harness.ts";

let harness: PostgresHarness;
let tenant: string;
let other: string;
let rows: AuditRow[];

beforeAll(async () => {
  harness = await postgresHarness();
  tenant = await newTenant(harness.store);
  other = await newTenant(harness.store);
  for (const to of [tenant, other]) {
    for (let at = 1; at <= 8; at += 1) {
      const entry = {
        actor: `u${at}`,
        action: "share.opened",
        subject: { session: `s${at}` },
        detail: { at },
      };
      await harness.store.audit.add(to, entry);
    }
  }
  rows = await harness.store.audit.list(tenant, { after: 0, limit: 100 });
  await sql`insert into audit_starts (tenant_id, n, hash, at) values ('dropped', 2, '', 1)`.execute(
    harness.db,
  );
});

afterAll(() => harness.store.close());

const NO_KEY = { key: null, keys: [], onError: noteLostEntry };

/** Returns the verdict after the tampering, which is then rolled back. */
async function after(
  tamper: (tx: Db) => Promise<unknown>,
  checkpoints: AuditHead[] = [],
): Promise<AuditVerdict> {
  let verdict: AuditVerdict | undefined;
  const undo = new Error("undo");
  const work = harness.db.transaction().execute(async (tx) => {
    await sql`alter table audit_log disable trigger user`.execute(tx);
    await sql`alter table audit_heads disable trigger user`.execute(tx);
    await tamper(tx);
    verdict = await verifyTenantAudit(postgresAudit(tx, NO_KEY), tenant, { checkpoints });
    throw undo;
  });
  await expect(work).rejects.toBe(undo);
  return verdict as AuditVerdict;
}

const fault = (n: number, why: AuditFaultKind) => ({ ok: false, fault: { n, why } });

/** Tampering by SQL statements, in sequence. */
function by(...statements: string[]): (tx: Db) => Promise<void> {
  return async (tx) => {
    for (const statement of statements) await sql.raw(statement).execute(tx);
  };
}

async function put(tx: Db, row: AuditRow): Promise<void> {
  const { tenant: tenant_id, prevHash, keyId, ...rest } = row;
  await tx.deleteFrom("audit_log").where("tenant_id", "=", tenant_id).where("n", "=", row.n).execute();
  await tx
    .insertInto("audit_log")
    .values({ ...rest, tenant_id, prev_hash: prevHash, key_id: keyId })
    .execute();
}

/** Recreates the rows from this one on, each with a correct hash. */
function rewritten(from: number, change: Partial<AuditRow>): AuditRow[] {
  let last = rows[from - 2]?.hash ?? "0".repeat(64);
  return rows.slice(from - 1).map((row) => {
    const next = { ...row, ...(row.n === from ? change : {}), prevHash: last };
    last = hashAuditRow(next, null);
    return { ...next, hash: last };
  });
}

describe("detects an edit of", () => {
  const edits: Record<string, string> = {
    at: "at = at + 1",
    actor: "actor = 99",
    "actor away": "actor = null",
    action: "action = 'session.read'",
    subject: `subject = '{"session":"s9"}'`,
    "subject, by a space": "subject = subject || ' '",
    "subject, by a key that hides": `subject = replace(subject, '{', '{"session":"x",')`,
    detail: "detail = 'null'",
    prev_hash: "prev_hash = repeat('a', 64)",
    hash: "hash = repeat('a', 64)",
  };
  for (const [column, change] of Object.entries(edits)) {
    for (const n of [1, 4, 8]) {
      test(`${column} of row ${n}`, async () => {
        const verdict = await after(
          by(`update audit_log set ${change} where tenant_id = '${tenant}' and n = ${n}`),
        );
        expect(verdict).toEqual(fault(n, "changed"));
      });
    }
  }

  test("the tenant: the row is missing in one audit and added in the other", async () => {
    expect(
      await after(
        by(`update audit_log set tenant_id = '${other}', n = 9 where tenant_id = '${tenant}' and n = 4`),
      ),
    ).toEqual(fault(4, "missing"));
    expect(
      await after(
        by(`update audit_log set tenant_id = '${tenant}', n = 9 where tenant_id = '${other}' and n = 4`),
      ),
    ).toEqual(fault(9, "changed"));
  });

  test("n: the row is missing", async () => {
    expect(await after(by(`update audit_log set n = 20 where tenant_id = '${tenant}' and n = 4`))).toEqual(
      fault(4, "missing"),
    );
  });

  test("a row with its hash", async () => {
    for (const n of [1, 4, 8]) {
      const [changed] = rewritten(n, { actor: 99 });
      // The next row, or the head, has the hash of the original.
      expect(await after((tx) => put(tx, changed as AuditRow))).toEqual(fault(Math.min(n + 1, 8), "changed"));
    }
  });

  test("the tail and the head, consistently, with a checkpoint", async () => {
    const tail = rewritten(4, { actor: 99 });
    const tamper = async (tx: Db) => {
      for (const row of tail) await put(tx, row);
      await by(`update audit_heads set hash = '${tail.at(-1)?.hash}' where tenant_id = '${tenant}'`)(tx);
    };
    expect(await after(tamper)).toMatchObject({ ok: true });
    const checkpoints = [2, 6].map((n) => ({ n, hash: rows[n - 1]?.hash ?? "" }));
    expect(await after(tamper, checkpoints)).toEqual(fault(6, "changed"));
    expect(await after(tamper, [{ n: 4, hash: rows[3]?.hash ?? "" }])).toEqual(fault(4, "changed"));
  });
});

describe("detects a deletion of", () => {
  for (const n of [1, 4, 8]) {
    test(`row ${n}`, async () => {
      const verdict = await after(by(`delete from audit_log where tenant_id = '${tenant}' and n = ${n}`));
      expect(verdict).toEqual(fault(n, "missing"));
    });
  }

  test("a row, with the following rows moved up", async () => {
    const tamper = by(
      `delete from audit_log where tenant_id = '${tenant}' and n = 4`,
      ...[5, 6, 7, 8].map((n) => `update audit_log set n = n - 1 where tenant_id = '${tenant}' and n = ${n}`),
      `update audit_heads set n = 7 where tenant_id = '${tenant}'`,
    );
    expect(await after(tamper)).toEqual(fault(4, "changed"));
  });

  test("the end, with the head set back, with a checkpoint", async () => {
    const tamper = by(
      `delete from audit_log where tenant_id = '${tenant}' and n > 5`,
      `update audit_heads set n = 5, hash = '${rows[4]?.hash}' where tenant_id = '${tenant}'`,
    );
    expect(await after(tamper)).toMatchObject({ ok: true, head: { n: 5 } });
    expect(await after(tamper, [{ n: 8, hash: rows[7]?.hash ?? "" }])).toEqual(fault(6, "missing"));
  });

  test("everything", async () => {
    expect(await after(by(`delete from audit_log where tenant_id = '${tenant}'`))).toEqual(
      fault(1, "missing"),
    );
    expect(await after(by(`delete from audit_heads where tenant_id = '${tenant}'`))).toEqual(
      fault(9, "missing"),
    );
    expect(await after(by("truncate audit_log, audit_heads"), [{ n: 3, hash: rows[2]?.hash ?? "" }])).toEqual(
      fault(1, "missing"),
    );
  });
});

describe("detects a move or an insertion of", () => {
  test("two rows that swap positions", async () => {
    const moves = [
      [3, 100],
      [6, 3],
      [100, 6],
    ].map(([n, to]) => `update audit_log set n = ${to} where tenant_id = '${tenant}' and n = ${n}`);
    expect(await after(by(...moves))).toEqual(fault(3, "changed"));
  });

  test("two rows that swap contents", async () => {
    for (const column of ["subject", "actor", "hash"]) {
      const exchange = `update audit_log a set ${column} = b.${column} from audit_log b
        where a.tenant_id = '${tenant}' and b.tenant_id = a.tenant_id and a.n in (3, 6) and b.n = 9 - a.n`;
      expect(await after(by(exchange))).toEqual(fault(3, "changed"));
    }
  });

  test("a row in between", async () => {
    const up = [8, 7, 6, 5, 4].map(
      (n) => `update audit_log set n = n + 1 where tenant_id = '${tenant}' and n = ${n}`,
    );
    const [inserted] = rewritten(4, { actor: 99 });
    const tamper = async (tx: Db) => {
      await by(...up, `update audit_heads set n = 9 where tenant_id = '${tenant}'`)(tx);
      await put(tx, inserted as AuditRow);
    };
    // The next row was chained to the row before the inserted one.
    expect(await after(tamper)).toEqual(fault(5, "changed"));
  });

  test("a row after the end", async () => {
    const next = { ...(rows[7] as AuditRow), n: 9, prevHash: rows[7]?.hash ?? "" };
    expect(await after((tx) => put(tx, { ...next, hash: hashAuditRow(next, null) }))).toEqual(
      fault(9, "changed"),
    );
  });
});

describe("with an audit key, the role that owns the tables", () => {
  const KEY = "k".repeat(64);
  const keys = parseAuditKeys(KEY);
  let signed: ClosableStore;
  let keyed: string;
  let all: AuditRow[];
  const checkpoint = async (n: number) => {
    const row = all[n - 1] as AuditRow;
    return signCheckpoint({ tenant: keyed, n, hash: row.hash, at: row.at }, keys[0] as AuditKey);
  };

  beforeAll(async () => {
    signed = createPostgresStore(harness.db, { auditKey: KEY, onError: noteLostEntry });
    keyed = await newTenant(signed);
    for (let at = 1; at <= 8; at += 1) {
      const subject = { session: `s${at}`, interaction: "a" };
      const action = at === 4 ? "approval.rejected" : "approval.approved";
      await signed.audit.add(keyed, { actor: "an", action, subject });
    }
    all = await signed.audit.list(keyed, { after: 0, limit: 100 });
  });

  /** Disables the triggers, and writes these rows and their end in place of the stored ones. */
  async function replaceAll(rowsNow: readonly AuditRow[], options: VerifyOptions): Promise<AuditVerdict> {
    let verdict: AuditVerdict | undefined;
    const undo = new Error("undo");
    const work = harness.db.transaction().execute(async (tx) => {
      await sql`alter table audit_log disable trigger user`.execute(tx);
      await sql`alter table audit_heads disable trigger user`.execute(tx);
      await tx.deleteFrom("audit_log").where("tenant_id", "=", keyed).execute();
      for (const row of rowsNow) await put(tx, row);
      const head = { n: rowsNow.length, hash: rowsNow.at(-1)?.hash ?? "" };
      await tx.updateTable("audit_heads").set(head).where("tenant_id", "=", keyed).execute();
      verdict = await verifyTenantAudit(postgresAudit(tx, NO_KEY), keyed, options);
      throw undo;
    });
    await expect(work).rejects.toBe(undo);
    return verdict as AuditVerdict;
  }

  /** A01: a rejection becomes an approval, and every row from `from` on is hashed again with what the role knows. */
  function forged(from: number, keyId: string | null): AuditRow[] {
    let last = all[from - 2]?.hash ?? "0".repeat(64);
    return all.map((row) => {
      if (row.n < from) return row;
      const action = row.n === 4 ? "approval.approved" : row.action;
      const next = { ...row, action, prevHash: last, keyId };
      last = hashAuditRow(next, null);
      return { ...next, hash: last };
    });
  }

  test("can't rewrite it: the verifier with the key names the first row", async () => {
    expect(await replaceAll(all, { keys })).toMatchObject({ ok: true, head: { n: 8 } });
    expect(await replaceAll(forged(4, null), { keys })).toEqual(fault(4, "unkeyed"));
    expect(await replaceAll(forged(4, all[0]?.keyId ?? ""), { keys })).toEqual(fault(4, "changed"));
    expect(await replaceAll(forged(1, null), { keys })).toEqual(fault(1, "unkeyed"));
  });

  test("can't rewrite or cut off what a checkpoint covers", async () => {
    const checkpoints = [await checkpoint(6)];
    expect(await replaceAll(all, { keys, checkpoints })).toMatchObject({ ok: true });
    expect(await replaceAll(forged(4, null), { keys, checkpoints })).toEqual(fault(6, "changed"));
    // Without a checkpoint, the end can be cut off unnoticed.
    expect(await replaceAll(all.slice(0, 3), { keys })).toMatchObject({ ok: true, head: { n: 3 } });
    expect(await replaceAll(all.slice(0, 3), { keys, checkpoints })).toEqual(fault(4, "missing"));
  });

  test("can't edit, delete, move or insert a row", async () => {
    const at = (n: number) => all[n - 1] as AuditRow;
    const edited = all.map((row) => (row.n === 5 ? { ...row, actor: 99 } : row));
    expect(await replaceAll(edited, { keys })).toEqual(fault(5, "changed"));
    const moved = all.map((row) => ({ ...at(row.n === 3 ? 6 : row.n === 6 ? 3 : row.n), n: row.n }));
    expect(await replaceAll(moved, { keys })).toEqual(fault(3, "changed"));
    const shifted = all.filter(({ n }) => n !== 2).map((row, n) => ({ ...row, n: n + 1 }));
    expect(await replaceAll(shifted, { keys })).toEqual(fault(2, "changed"));
    const key = all.map((row) => (row.n === 2 ? { ...row, keyId: "other" } : row));
    expect(await replaceAll(key, { keys })).toEqual(fault(2, "unknown_key"));
  });
});

describe("with active triggers", () => {
  for (const statement of [
    "update audit_log set actor = 1",
    "delete from audit_log",
    "truncate audit_log",
    "delete from audit_heads",
    "truncate audit_heads",
    "update audit_heads set n = n - 1",
    "update audit_heads set n = n + 2",
    "update audit_heads set hash = ''",
    "update audit_heads set n = n + 1, tenant_id = 'x'",
    "update audit_starts set n = n - 1",
    "delete from audit_starts",
    "truncate audit_starts",
  ]) {
    test(`refuses: ${statement}`, async () => {
      await expect(sql.raw(statement).execute(harness.db)).rejects.toMatchObject({ code: "42501" });
      expect(await verifyTenantAudit(harness.store.audit, tenant)).toMatchObject({
        ok: true,
        head: { n: 8 },
      });
    });
  }
});
