/** Tests the bounds and the content of security events: a flood can't fill the log, and a faulty hook stops nothing. */
import { readFileSync } from "node:fs";
import { readCode, readSection, readTables } from "@turnstream/conformance/support/markdown.ts";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  createSecurityLog,
  createSecurityReporter,
  hashAddress,
  SECURITY_EVENTS,
  type SecurityEvent,
  type SecurityLine,
} from "../../src/util/security-event.ts";

const SECRET = "s".repeat(32);
const REFUSED: SecurityEvent = { type: "sign_in_refused", reason: "key_invalid", key: "k1" };

let now = 0;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function pass(ms: number): void {
  now += ms;
  vi.advanceTimersByTime(ms);
}

function openLog() {
  const lines: SecurityLine[] = [];
  const log = createSecurityLog((line) => lines.push(line), { secret: SECRET, now: () => now });
  return { lines, log };
}

describe("the log of security events", () => {
  test("writes at most 20 lines per type and minute, and then how many were left out", () => {
    const { lines, log } = openLog();
    for (let n = 0; n < 10_000; n++) log(REFUSED);
    expect(lines).toHaveLength(20);
    log({ type: "origin_refused", reason: "socket", subject: "https://evil.example" });
    expect(lines).toHaveLength(21);
    pass(60_000);
    expect(lines.at(-1)).toEqual({ type: "sign_in_refused", reason: "left_out", count: 9_980 });
    log(REFUSED);
    expect(lines.at(-1)).toEqual(REFUSED);
    pass(120_000);
    expect(lines).toHaveLength(23);
  });

  test("writes the count before the next line if the timer is late", () => {
    const { lines, log } = openLog();
    for (let n = 0; n < 25; n++) log(REFUSED);
    now += 61_000;
    log(REFUSED);
    expect(lines.slice(20)).toEqual([
      { type: "sign_in_refused", reason: "left_out", count: 5 },
      { ...REFUSED },
    ]);
  });

  test("names a user only by a keyed hash, and cuts what a client sent", () => {
    const { lines, log } = openLog();
    log({ type: "rate_limited", reason: "requests", user: "an@example.com", subject: "x".repeat(5_000) });
    expect(lines[0]).toEqual({
      type: "rate_limited",
      reason: "requests",
      subject: "x".repeat(200),
      userHash: hashAddress("an@example.com", SECRET),
    });
  });
});

test("the hash of an address depends on the address and the secret, and contains neither", () => {
  const hash = hashAddress("203.0.113.7", SECRET);
  expect(hash).toMatch(/^[\w-]{16}$/);
  expect(hashAddress("203.0.113.8", SECRET)).not.toBe(hash);
  expect(hashAddress("203.0.113.7", "t".repeat(32))).not.toBe(hash);
});

function broken(): never {
  throw new Error("broken");
}

test("a hook that throws is reported, and the other hooks still get the event", () => {
  const errors: string[] = [];
  const events: SecurityEvent[] = [];
  const report = createSecurityReporter(
    [broken, undefined, (event) => events.push(event)],
    (error, { during }) => errors.push(`${during}: ${String(error)}`),
  );
  expect(() => report(REFUSED)).not.toThrow();
  expect(errors).toEqual(["`onSecurityEvent`: Error: broken"]);
  expect(events).toEqual([REFUSED]);
});

test("docs/security-events.md lists every event with its reasons", () => {
  const page = readFileSync(new URL("../../../../docs/security-events.md", import.meta.url), "utf8");
  const [rows = []] = readTables(readSection(page, "## Events"), "Event");
  const listed = rows.map(([event = "", reasons = ""]) => [readCode(event)[0], readCode(reasons)]);
  expect(Object.fromEntries(listed)).toEqual(SECURITY_EVENTS);
});
