/** Kills a worker during an MCP call: the outcome of the call is unknown, and the turn continues. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { listBlocks } from "@turnstream/protocol";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { freshPrefix, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { openBackendOn } from "../../server/test/engine/real-backend.ts";
import { outline, TurnHarness } from "../../server/test/engine/turn-harness.ts";
import { hangingCaller, type WorkerSettings } from "./worker-process.ts";

const PROCESS = fileURLToPath(new URL("worker-process.ts", import.meta.url));

it("a call whose worker was killed ends as outcome unknown, the turn continues, and no server process remains", async () => {
  const folder = mkdtempSync(join(tmpdir(), "killed-"));
  const pids = join(folder, "pids");
  const settings: WorkerSettings = {
    redisUrl: sharedRedisUrl(),
    databaseUrl: await migratedDatabaseUrl(),
    keyPrefix: freshPrefix(),
    pids,
  };
  const harness = await TurnHarness.open(
    await openBackendOn(settings.redisUrl, settings.databaseUrl, settings.keyPrefix),
  );
  const child = new ChildProgram({ file: PROCESS, settings });
  try {
    const ref = await harness.session();
    await harness.send(ref, "go");
    await harness.until(ref, 60_000, (state) => {
      const turn = state.turns.last();
      return turn !== undefined && listBlocks(turn).some(({ kind }) => kind === "tool_result") ? true : null;
    });
    const caller = hangingCaller(pids);
    // The worker checks for dead executors every two seconds.
    await harness.worker([caller.agent], { leaseTtlMs: 6_000 });
    child.signal("SIGKILL");
    const turn = await harness.ended(ref, () => true, 90_000);
    expect(turn.status).toBe("end_turn");
    expect(outline(turn).filter((line) => line.startsWith("result"))).toEqual([
      "result odd_hang error This was interrupted, and it is not known whether it took effect. Please check.",
      "result odd_ok success ok",
    ]);
    expect(caller.offered).toContain("odd_hang");
    const [first = 0] = readFileSync(pids, "utf8").trim().split("\n").map(Number);
    await harness.until(ref, 30_000, () => (existsSync(`/proc/${first}`) ? null : true));
  } finally {
    await child.kill();
    await harness.close();
    rmSync(folder, { recursive: true });
  }
});
