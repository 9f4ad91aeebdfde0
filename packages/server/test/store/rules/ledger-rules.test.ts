/** Tests the pure rules of the ledger: decisions, keys, and the canonical JSON of hashes. */
import { createHash } from "node:crypto";

import { assertCases, type CaseCounts, leastSeen } from "@turnstream/conformance/support/cases.ts";
import type { Json } from "@turnstream/protocol";
import { TRANSITIONS } from "@turnstream/protocol/writer";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { hashKey, keyIdOf, generateKey, hashesEqual } from "../../../src/store/rules/api-key.ts";
import { canonicalJson } from "../../../src/store/rules/canonical-json.ts";
import {
  type TransitionState,
  USER_DECIDED,
  transitionError,
  allowedFrom,
} from "../../../src/store/rules/interactions.ts";

const CASES: CaseCounts = { push: 6_000, full: 100_000 };

describe("decisions", () => {
  const kind = fc.constantFrom(...USER_DECIDED);
  const status = fc.constantFrom(
    ...new Set(
      Object.values(TRANSITIONS).flatMap((from) => [...Object.keys(from), ...Object.values(from).flat()]),
    ),
  );
  const transition = fc.record({ to: status, at: fc.nat(20), version: fc.option(fc.nat(2), { nil: null }) });

  test("exactly one of many transitions in any order is final", async () => {
    let decided = 0;
    await assertCases(
      fc.property(
        kind,
        fc.option(fc.nat(20), { nil: null }),
        fc.array(transition, { maxLength: 12 }),
        (of, deadline, wishes) => {
          let current: TransitionState = { kind: of, status: "pending", version: 0, digest: null, deadline };
          let wins = 0;
          for (const { to, at, version } of wishes.toSorted((a, b) => a.at - b.at)) {
            const asked = version === null ? { to } : { to, expectVersion: version };
            const why = transitionError(current, asked, at);
            if (why !== null) continue;
            const passed = deadline !== null && deadline <= at;
            const late = to === "timed_out" || to === "expired";
            // Without `expect`, which would take most of the time.
            if (!allowedFrom(of, to).includes(current.status)) throw new Error("not a transition");
            if (to !== "cancelled" && late !== passed) throw new Error("not in time");
            current = { ...current, status: to, version: current.version + 1 };
            wins += 1;
          }
          if (wins > 1) throw new Error("two winners");
          decided += wins;
        },
      ),
      CASES,
    );
    expect(decided).toBeGreaterThan(leastSeen(0.3, CASES));
  });

  test("the exact moment of the deadline is after it", () => {
    const at: TransitionState = {
      kind: "approval",
      status: "pending",
      version: 0,
      digest: null,
      deadline: 300_000,
    };
    expect(transitionError(at, { to: "approved" }, 299_999)).toBeNull();
    expect(transitionError(at, { to: "timed_out" }, 299_999)).toBe("early");
    expect(transitionError(at, { to: "approved" }, 300_000)).toBe("late");
    expect(transitionError(at, { to: "timed_out" }, 300_000)).toBeNull();
  });

  test("property names of every object are not statuses", () => {
    for (const name of ["constructor", "__proto__", "toString"]) {
      const odd: TransitionState = { kind: "form", status: name, version: 0, digest: null, deadline: null };
      expect(transitionError(odd, { to: "submitted" }, 0)).toBe("status");
      expect(transitionError({ ...odd, status: "pending" }, { to: name }, 0)).toBe("status");
    }
  });
});

describe("keys", () => {
  test("are made of the given bytes and are unique", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 44, maxLength: 44 }), (random) => {
        const { id, secret, hash } = generateKey(random);
        expect(keyIdOf(secret)).toBe(id);
        expect(hashesEqual(hash, createHash("sha256").update(secret).digest())).toBe(true);
        expect(hashesEqual(hash, hashKey(`${secret}x`))).toBe(false);
        expect(hashesEqual(hash, hash.subarray(1))).toBe(false);
      }),
    );
    expect(() => generateKey(new Uint8Array(43))).toThrow(RangeError);
  });

  test("are recognized among other strings", () => {
    for (const text of [
      undefined,
      null,
      7,
      {},
      "",
      "ts__",
      `ts_${"a".repeat(24)}_`,
      `sk_${"a".repeat(68)}`,
    ]) {
      expect(keyIdOf(text)).toBeNull();
    }
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => keyIdOf(text) === null));
  });
});

describe("canonical JSON", () => {
  test("is JSON of the same value, independent of the order of keys", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = canonicalJson(value as Json);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(JSON.parse(text) as Json)).toBe(text);
      }),
    );
    expect(canonicalJson({ b: 1, a: { d: null, c: [] } })).toBe(
      canonicalJson({ a: { c: [], d: null }, b: 1 }),
    );
  });
});
