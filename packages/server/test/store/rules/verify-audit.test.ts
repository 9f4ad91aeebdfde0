/** Tests the audit verifier on generated chains: any single change of any row is detected, and the row is named. */
import fc from "fast-check";
import { expect, test } from "vitest";

import type { AuditHead, AuditRow } from "../../../src/store/ports/audit.ts";
import { EMPTY_AUDIT_HEAD, nextAuditRow } from "../../../src/store/rules/audit.ts";
import { verifyAudit } from "../../../src/store/rules/verify-audit.ts";

function chain(length: number): { rows: AuditRow[]; head: AuditHead } {
  const rows: AuditRow[] = [];
  let head = EMPTY_AUDIT_HEAD;
  for (let at = 1; at <= length; at += 1) {
    const row = nextAuditRow("t", head, 1000 + at, { actor: at % 3, action: "a", subject: { id: `${at}` } });
    rows.push(row);
    head = { n: row.n, hash: row.hash };
  }
  return { rows, head };
}

const { rows, head } = chain(12);

test("accepts a complete chain, also without rows", async () => {
  expect(await verifyAudit("t", rows, head, [head, EMPTY_AUDIT_HEAD])).toEqual({ ok: true, head });
  expect(await verifyAudit("t", [], null)).toEqual({ ok: true, head: EMPTY_AUDIT_HEAD });
  async function* slowly() {
    yield* rows;
  }
  expect(await verifyAudit("t", slowly(), head)).toEqual({ ok: true, head });
});

test("reports the row of any edit of any field", async () => {
  const field = fc.constantFrom("tenant", "at", "actor", "action", "subject", "detail", "prevHash", "hash");
  await fc.assert(
    fc.asyncProperty(fc.nat(11), field, fc.string({ minLength: 1 }), async (at, name, text) => {
      const value = name === "at" || name === "actor" ? 5000 + text.length : `x${text}`;
      const edited = rows.map((row, index) => (index === at ? { ...row, [name]: value } : row));
      expect(await verifyAudit("t", edited, head)).toEqual({
        ok: false,
        fault: { n: at + 1, why: "edited", was: null },
      });
    }),
  );
});

test("reports the first of any removed or swapped rows", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.nat(11), { minLength: 1, maxLength: 11 }), async (taken) => {
      const left = rows.filter((_, at) => !taken.includes(at));
      const n = Math.min(...taken) + 1;
      expect(await verifyAudit("t", left, head)).toEqual({
        ok: false,
        fault: { n, why: "missing", was: null },
      });
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.nat(11), { minLength: 2, maxLength: 2 }), async ([a = 0, b = 0]) => {
      const swapped = rows.map((row, at) => {
        const from = at === a ? b : at === b ? a : at;
        return { ...(rows[from] as AuditRow), n: row.n };
      });
      const [first, second] = [Math.min(a, b) + 1, Math.max(a, b) + 1];
      expect(await verifyAudit("t", swapped, head)).toEqual({
        ok: false,
        fault: { n: first, why: "moved", was: second },
      });
    }),
  );
});

test("reports a duplicate row, and a head that is behind or missing", async () => {
  const twice = [...rows.slice(0, 5), rows[4] as AuditRow, ...rows.slice(5)];
  expect(await verifyAudit("t", twice, head)).toMatchObject({ fault: { n: 5, why: "inserted" } });
  const behind = { n: 10, hash: rows[9]?.hash ?? "" };
  expect(await verifyAudit("t", rows, behind)).toMatchObject({ fault: { n: 11, why: "inserted" } });
  expect(await verifyAudit("t", rows, null)).toMatchObject({ fault: { n: 12, why: "headless" } });
  expect(await verifyAudit("t", rows, { ...head, hash: EMPTY_AUDIT_HEAD.hash })).toMatchObject({
    fault: { n: 12, why: "rewritten" },
  });
});
