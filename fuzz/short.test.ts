/** Runs the short form of the fuzzer in its own process. `npm run fuzz` runs it for 30 minutes. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { FRESH_SEED } from "@turnstream/conformance/support/cases.ts";
import { expect, test } from "vitest";

/** 10 seconds for all targets together. */
const MINUTES = "0.17";

test("generated input crashes nothing, holds nothing for 50 ms, and no hidden text is on a wire", async () => {
  const args = ["--conditions=@turnstream/source", join(import.meta.dirname, "run.ts")];
  const run = promisify(execFile)(process.execPath, [
    ...args,
    "--minutes",
    MINUTES,
    "--seed",
    `${FRESH_SEED}`,
  ]);
  const { stdout } = await run.catch((error: { readonly stdout: string }) => error);
  const lines = stdout.trim().split("\n");
  expect(lines.filter((line) => line.includes('"ok":false'))).toEqual([]);
  expect(JSON.parse(lines.at(-1) ?? "{}")).toMatchObject({ ok: true, crashes: 0, holds: 0, canaries: 0 });
});
