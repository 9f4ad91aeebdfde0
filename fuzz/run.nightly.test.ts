/** Tests the short form of `npm run fuzz`, in its own process, and what counts as a crash, a hold and a leak. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { type CaseResult, fuzzTarget, type Target } from "./target.ts";

/** For all targets together. Each also takes time to start. */
const MINUTES = "0.1";

test("generated input crashes nothing, holds no thread for 50 ms, and reveals no hidden text", async () => {
  const args = ["--conditions=@turnstream/source", join(import.meta.dirname, "run.ts"), "--minutes", MINUTES];
  const run = promisify(execFile)(process.execPath, args);
  const { stdout } = await run.catch((error: { readonly stdout: string }) => error);
  const lines = stdout.trim().split("\n");
  expect(lines.filter((line) => line.includes('"ok":false'))).toEqual([]);
  expect(JSON.parse(lines.at(-1) ?? "{}")).toMatchObject({
    fuzz: 8,
    ok: true,
    seed: Number(process.env["TURNSTREAM_SEED"]),
    crashes: 0,
    holds: 0,
    canaries: 0,
  });
});

/** A target whose cases have these results in turn, and the last one from then on. */
function targetWith(...results: CaseResult[]): Target {
  const next = async (): Promise<CaseResult> =>
    (results.length > 1 ? results.shift() : results[0]) ?? { usedMs: 0 };
  return { name: "x", about: "x", open: async () => ({ runCase: next, close: async () => {} }) };
}

const fuzzShortly = (...results: CaseResult[]) => fuzzTarget(targetWith(...results), 0, 1);

test("a case that crashes, shows hidden text or is always slow fails the run", async () => {
  expect(await fuzzShortly({ usedMs: 0, crash: "no" })).toMatchObject({ ok: false, cases: 2, crashes: 2 });
  expect(await fuzzShortly({ usedMs: 0, canary: "no" })).toMatchObject({ ok: false, canaries: 2 });
  expect(await fuzzShortly({ usedMs: 100_000 })).toMatchObject({ ok: false, holds: 2 });
});

test("a case that is slow only at first does not fail the run", async () => {
  expect(await fuzzShortly({ usedMs: 100_000 }, { usedMs: 1 })).toMatchObject({ ok: true, holds: 0 });
});
