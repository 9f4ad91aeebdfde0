/** Tests the audit verifier on generated chains: any single change of any row is detected, and the row is named. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { AuditHead, AuditRow, AuditStart } from "../../../server/src/store/audit.ts";
import { StoreError } from "../../../server/src/store/errors.ts";
import { parseCheckpoints, signCheckpoint } from "../../src/audit/audit-checkpoint.ts";
import {
  type AuditKey,
  EMPTY_AUDIT_HEAD,
  hashAuditRow,
  nextAuditRow,
  parseAuditKeys,
} from "../../../server/src/store/audit.ts";
import { startAfter } from "../../../server/src/store/audit.ts";
import { AuditChecker, verifyAudit, type VerifyOptions } from "../../src/audit/verify-audit.ts";

function chain(length: number, key: AuditKey | null = null): { rows: AuditRow[]; head: AuditHead } {
  const rows: AuditRow[] = [];
  let head = EMPTY_AUDIT_HEAD;
  for (let at = 1; at <= length; at += 1) {
    const entry = { actor: null, action: "memory.edit", subject: { id: `${at}` } } as const;
    const row = nextAuditRow(entry, { tenant: "t", head, at: 1000 + at, actor: at % 3, key });
    rows.push(row);
    head = { n: row.n, hash: row.hash };
  }
  return { rows, head };
}

const { rows, head } = chain(12);

test("accepts a complete chain, also without rows", async () => {
  expect(await verifyAudit("t", rows, head, { checkpoints: [head, EMPTY_AUDIT_HEAD] })).toEqual({
    ok: true,
    head,
    start: null,
  });
  expect(await verifyAudit("t", [], null)).toEqual({ ok: true, head: EMPTY_AUDIT_HEAD, start: null });
  async function* slowly() {
    yield* rows;
  }
  expect(await verifyAudit("t", slowly(), head)).toEqual({ ok: true, head, start: null });
});

test("reports the row of any edit of any field", async () => {
  const field = fc.constantFrom("tenant", "at", "actor", "action", "subject", "detail", "prevHash", "hash");
  await fc.assert(
    fc.asyncProperty(fc.nat(11), field, fc.string({ minLength: 1 }), async (at, name, text) => {
      const value = name === "at" || name === "actor" ? 5000 + text.length : `x${text}`;
      const edited = rows.map((row, index) => (index === at ? { ...row, [name]: value } : row));
      expect(await verifyAudit("t", edited, head)).toEqual({
        ok: false,
        fault: { n: at + 1, why: "changed" },
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
        fault: { n, why: "missing" },
      });
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.nat(11), { minLength: 2, maxLength: 2 }), async ([a = 0, b = 0]) => {
      const swapped = rows.map((row, at) => {
        const from = at === a ? b : at === b ? a : at;
        return { ...(rows[from] as AuditRow), n: row.n };
      });
      const first = Math.min(a, b) + 1;
      expect(await verifyAudit("t", swapped, head)).toEqual({
        ok: false,
        fault: { n: first, why: "changed" },
      });
    }),
  );
});

test("reports a duplicate row, and a head that is behind or missing", async () => {
  const twice = [...rows.slice(0, 5), rows[4] as AuditRow, ...rows.slice(5)];
  expect(await verifyAudit("t", twice, head)).toMatchObject({ fault: { n: 5, why: "changed" } });
  const behind = { n: 10, hash: rows[9]?.hash ?? "" };
  expect(await verifyAudit("t", rows, behind)).toMatchObject({ fault: { n: 11, why: "changed" } });
  expect(await verifyAudit("t", rows, null)).toMatchObject({ fault: { n: 13, why: "missing" } });
  expect(await verifyAudit("t", rows, { ...head, hash: EMPTY_AUDIT_HEAD.hash })).toMatchObject({
    fault: { n: 12, why: "changed" },
  });
});

describe("with keys", () => {
  const [newer, older] = parseAuditKeys(`${"n".repeat(32)}, ${"o".repeat(32)}`) as [AuditKey, AuditKey];
  const keys = [newer, older];
  const keyed = chain(12, newer);

  test("accepts a chain with keyed hashes, also after the key was replaced", async () => {
    expect(await verifyAudit("t", keyed.rows, keyed.head, { keys })).toEqual({
      ok: true,
      head: keyed.head,
      start: null,
    });
    const { rows: old, head: end } = chain(5, older);
    const entry = { actor: null, action: "memory.edit", subject: {} } as const;
    const next = nextAuditRow(entry, { tenant: "t", head: end, at: 1, actor: null, key: newer });
    const verdict = await verifyAudit("t", [...old, next], { n: 6, hash: next.hash }, { keys });
    expect(verdict).toMatchObject({ ok: true });
  });

  test("accepts rows without a key before a keyed row, because its hash covers them", async () => {
    const entry = { actor: null, action: "memory.edit", subject: {} } as const;
    const next = nextAuditRow(entry, { tenant: "t", head, at: 1, actor: null, key: newer });
    const end = { n: 13, hash: next.hash };
    expect(await verifyAudit("t", [...rows, next], end, { keys })).toMatchObject({ ok: true });
  });

  test("reports the first of the rows at the end that have no key, unless a checkpoint covers them", async () => {
    const plain = chain(12);
    const rewritten = [...keyed.rows.slice(0, 5), ...rechain(keyed.rows.slice(5), keyed.rows[4]?.hash ?? "")];
    const end = { n: 12, hash: rewritten.at(-1)?.hash ?? "" };
    expect(await verifyAudit("t", rewritten, end, { keys })).toMatchObject({
      fault: { n: 6, why: "unkeyed" },
    });
    expect(await verifyAudit("t", plain.rows, plain.head, { keys })).toMatchObject({
      fault: { n: 1, why: "unkeyed" },
    });
    const covered = { keys, checkpoints: [plain.head] };
    expect(await verifyAudit("t", plain.rows, plain.head, covered)).toMatchObject({ ok: true });
  });

  test("reports a row whose key is not known", async () => {
    const verdict = await verifyAudit("t", keyed.rows, keyed.head, { keys: [older] });
    expect(verdict).toMatchObject({ fault: { n: 1, why: "unknown_key" } });
    expect(await verifyAudit("t", keyed.rows, keyed.head)).toMatchObject({ fault: { why: "unknown_key" } });
  });

  test("reports the row of an edit that was hashed without the key", async () => {
    const edited = keyed.rows.map((row) => (row.n === 4 ? { ...row, action: "memory.erase" } : row));
    const verdict = await verifyAudit("t", edited, keyed.head, { keys });
    expect(verdict).toEqual({ ok: false, fault: { n: 4, why: "changed" } });
  });

  test("refuses a key with less than 32 bytes", () => {
    expect(() => parseAuditKeys("short")).toThrow(RangeError);
    expect(() => parseAuditKeys(`${"n".repeat(32)},short`)).toThrow(RangeError);
    expect(parseAuditKeys(null)).toEqual([]);
  });

  test("a checkpoint is accepted only with the signature of a key", () => {
    const checkpoint = signCheckpoint({ tenant: "t", n: 12, hash: keyed.head.hash, at: 5 }, newer);
    const other = signCheckpoint({ tenant: "other", n: 3, hash: "x", at: 5 }, older);
    const text = `${JSON.stringify(checkpoint)}\n${JSON.stringify(other)}\n`;
    expect(parseCheckpoints(text, "t", keys)).toEqual([checkpoint]);
    for (const [name, value] of Object.entries({ tenant: "u", n: 11, hash: "y", at: 6, signature: "00" })) {
      const changed = JSON.stringify({ ...checkpoint, [name]: value });
      expect(() => parseCheckpoints(changed, "t", keys), name).toThrow("wrong signature");
    }
    expect(() => parseCheckpoints(text, "t", [newer])).toThrow("another audit key");
    for (const bad of ["{", "null", "7", '{"tenant":"t"}'])
      expect(() => parseCheckpoints(bad, "t", keys)).toThrow(StoreError);
  });
});

/** Hashes rows again, without a key. */
function rechain(tail: readonly AuditRow[], hash: string): AuditRow[] {
  let prevHash = hash;
  return tail.map((row) => {
    const next = { ...row, prevHash, keyId: null };
    prevHash = hashAuditRow(next, null);
    return { ...next, hash: prevHash };
  });
}

const fault = (n: number, why: string) => ({ ok: false, fault: { n, why } });

describe("a chain whose first rows were dropped", () => {
  const keys = parseAuditKeys("k".repeat(32));
  const [key] = keys as [AuditKey];
  const keyed = chain(12, key);
  const rowOf = (n: number, of = keyed.rows) => of[n - 1] as AuditRow;
  const context = { keys, at: 5, isFollowedByKeyed: false };
  const start = startAfter(rowOf(4), context);

  function check(from: AuditStart, options: VerifyOptions = { keys }, of = keyed) {
    const checker = new AuditChecker("t", options);
    let found = checker.start(from);
    for (const row of of.rows.slice(from.n)) found ??= checker.row(row);
    return checker.verdict(found ?? checker.end(of.head));
  }

  test("is accepted with a signed start, also if no row is left", () => {
    expect(check(start)).toEqual({ ok: true, head: keyed.head, start });
    const last = startAfter(rowOf(12), context);
    expect(check(last)).toEqual({ ok: true, head: keyed.head, start: last });
  });

  test("is refused without a valid signature of the start", () => {
    const checkpoint = signCheckpoint(start, key);
    for (const change of [
      { keyId: null, signature: null },
      { signature: "0".repeat(64) },
      { signature: checkpoint.signature },
      { at: 6 },
      { tenant: "other" },
    ])
      expect(check({ ...start, ...change })).toEqual(fault(4, "cut"));
    // The signature of another position.
    expect(check({ ...start, n: 6, hash: rowOf(6).hash })).toEqual(fault(6, "cut"));
    expect(check(start, { keys: parseAuditKeys("o".repeat(32)) })).toEqual(fault(4, "unknown_key"));
  });

  test("is refused if more rows are missing, or the row before the start was rewritten", () => {
    const checker = new AuditChecker("t", { keys });
    expect(checker.start(start)).toBeNull();
    expect(checker.row(rowOf(6))).toEqual({ n: 5, why: "missing" });
    const forged = chain(12);
    expect(check(startAfter(rowOf(4, forged.rows), { ...context, isFollowedByKeyed: true }))).toEqual(
      fault(5, "changed"),
    );
    expect(check(start, { keys, checkpoints: [{ n: 4, hash: "0".repeat(64) }] })).toEqual(
      fault(4, "changed"),
    );
    expect(check(start, { keys, checkpoints: [{ n: 2, hash: "dropped" }] })).toMatchObject({ ok: true });
  });

  test("gets no start after a changed row, and no signed one after a row that no key protects", () => {
    for (const change of [{ at: 1 }, { keyId: "unknown" }, { keyId: null }])
      expect(() => startAfter({ ...rowOf(4), ...change }, context)).toThrow(StoreError);
    expect(startAfter(rowOf(4, rows), context)).toMatchObject({ keyId: null, signature: null });
    expect(startAfter(rowOf(4, rows), { ...context, isFollowedByKeyed: true })).toMatchObject({
      keyId: key.id,
    });
    const unkeyed = startAfter(rowOf(4, rows), { ...context, keys: [] });
    expect(check(unkeyed, {}, { rows, head })).toEqual({ ok: true, head, start: unkeyed });
  });
});
