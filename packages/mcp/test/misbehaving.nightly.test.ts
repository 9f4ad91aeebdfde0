/** Tests servers that are silent, broken, slow, hostile or large: the turn continues, and the worker leaks nothing. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listBlocks } from "@turnstream/protocol";
import { createMemoryLog } from "../../server/src/log/memory.ts";
import type { McpServerOptions } from "../src/options.ts";
import { mcpServer } from "../src/server.ts";
import { createMemorySignals } from "../../server/src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { outline, TurnHarness } from "../../server/test/engine/turn-harness.ts";
import { Caller, type Wanted } from "./fake-call.ts";
import { everythingStdio, oddStdio } from "./everything.ts";

let harness: TurnHarness;
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "odd-"));
  harness = await TurnHarness.open({
    log: createMemoryLog(),
    store: createMemoryStore(),
    signals: createMemorySignals(),
  });
});
afterEach(async () => {
  await harness.close();
  rmSync(folder, { recursive: true });
});

const pidFile = (): string => join(folder, "pids");
const pids = (): number[] => readFileSync(pidFile(), "utf8").trim().split("\n").map(Number);
const reportedErrors = (): string => harness.errors.map(({ error }) => String(error)).join("\n");

function odd(env: Record<string, string> = {}, more: Partial<McpServerOptions> = {}) {
  return { name: "odd", ...oddStdio({ ODD_PIDS: pidFile(), ...env }), ...more };
}

async function play(
  options: McpServerOptions,
  calls: readonly Wanted[],
  limits: { toolTimeoutMs?: number } = {},
) {
  const caller = new Caller(mcpServer(options), calls, limits);
  const worker = await harness.worker([caller.agent]);
  const ref = await harness.session();
  const turn = await harness.ask(ref, "go");
  return { caller, turn, ref, worker };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("MCP server", () => {
  it.each(["silent", "silent-list"])(
    "offers no tools when it is %s, and the turn continues",
    async (mode) => {
      const { caller, turn } = await play(odd({ ODD_MODE: mode }), []);
      expect(caller.offered).toEqual([]);
      expect(turn.status).toBe("end_turn");
      expect(reportedErrors()).toContain("no list of tools within 5000 ms");
    },
  );

  it("reports a server that can't be started, and doesn't start it again in every turn", async () => {
    const { caller, ref } = await play({ name: "odd", command: "no-such-command-here" }, []);
    await harness.ask(ref, "again");
    expect(caller.offered).toEqual([]);
    expect(reportedErrors()).toMatch(/UNAVAILABLE: .*ENOENT/);
  });

  it("cancels a call without a response after the tool's timeout, and notifies the server", async () => {
    const { caller } = await play(odd(), [["odd_hang"], ["odd_received"]], { toolTimeoutMs: 3_000 });
    expect(caller.results[0]).toBe("The tool took longer than 3 s and was stopped.");
    expect(caller.results[1]).toContain("notifications/cancelled");
  });

  it("reports a bounded number of errors for invalid output, and still accepts the response", async () => {
    const { caller } = await play(odd(), [["odd_garbage"], ["odd_ok"]]);
    expect(caller.results).toEqual(["after the garbage", "ok"]);
    expect(harness.errors.length).toBeGreaterThan(0);
    expect(harness.errors.length).toBeLessThanOrEqual(20);
  });

  it("returns an error result when the server dies in a call, and starts a new one for the next call", async () => {
    const { caller, turn } = await play(odd(), [["odd_pid"], ["odd_die"], ["odd_pid"]]);
    expect(turn.status).toBe("end_turn");
    expect(String(caller.results[1])).toMatch(/connection closed/i);
    expect([caller.results[0], caller.results[2]]).toEqual(pids().map(String));
    expect(reportedErrors()).toContain("the end");
    expect(reportedErrors().length).toBeLessThan(10_000);
  });

  it("runs one process for all turns of a worker, and kills it at shutdown even if it resists", async () => {
    const { ref, worker } = await play(odd({ ODD_MODE: "stubborn" }), [["odd_ok"]]);
    await harness.ask(ref, "again");
    const [pid = 0, ...others] = pids();
    expect(others).toEqual([]);
    expect(isAlive(pid)).toBe(true);
    await worker.shutdown();
    await harness.until(ref, 30_000, () => (isAlive(pid) ? null : true));
  });

  it("lists the tools again when the server reports a change", async () => {
    const { caller, ref } = await play(odd(), [["odd_grow"]]);
    expect(caller.offered).not.toContain("odd_grown-1");
    await harness.ask(ref, "again");
    expect(caller.steps.at(-1)?.tools.map(({ name }) => name)).toContain("odd_grown-1");
  });

  it("keeps its secrets and the worker's secrets private", async () => {
    process.env["WORKER_SECRET"] = "of-the-worker-only";
    const secret = "hush-hush-1234";
    const { caller } = await play(odd({ ODD_SECRET: secret }), [["odd_leak"], ["odd_die"]]);
    expect(caller.results[0]).toBe("the secret is [redacted]");
    expect(reportedErrors()).not.toContain(secret);
    await harness.close();
    harness = await TurnHarness.open({
      log: createMemoryLog(),
      store: createMemoryStore(),
      signals: createMemorySignals(),
    });
    const env = { GIVEN: "yes" };
    const everything = await play({ name: "ev", ...everythingStdio, env }, [["ev_get-env"]]);
    const given = JSON.parse(String(everything.caller.results[0])) as Record<string, string>;
    expect(given["GIVEN"]).toBe("yes");
    expect(Object.keys(given).toSorted()).toEqual(
      Object.keys(given)
        .filter((name) => ["GIVEN", "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"].includes(name))
        .toSorted(),
    );
    delete process.env["WORKER_SECRET"];
  });

  it("treats hostile content as data", async () => {
    const { caller, turn } = await play(odd(), [["odd_hostile"], ["odd_broken"]]);
    const result = listBlocks(turn).find((block) => block.kind === "tool_result");
    expect(result?.parts.every(({ media }) => media === "text")).toBe(true);
    expect(result?.parts.map(({ data }) => data)).toContain("for the user only");
    expect(String(caller.results[0])).toContain("for the model only");
    expect(String(caller.results[0])).not.toContain("for the user only");
    expect(outline(turn)).toContain("result odd_broken error This did not work.");
    expect(result?.label).toBe("odd: hostile");
  });

  it("stores an image that is too large for an event in a blob", async () => {
    const { caller, turn } = await play(odd(), [["odd_photo"]]);
    const result = listBlocks(turn).find((block) => block.kind === "tool_result");
    expect(result?.parts.map(({ media }) => media)).toEqual(["image"]);
    expect(result?.parts[0]?.data).toMatch(/^turnstream:/);
    expect(caller.results[0]).toBe("[A picture, image/jpeg, 300000 bytes. The user sees it.]");
  });

  it("reports an option that names a missing tool, and offers the chosen tools", async () => {
    const { caller } = await play(odd({}, { include: ["ok", "pid", "okay"], exclude: ["pid"] }), []);
    expect(caller.offered).toEqual(["odd_ok"]);
    expect(harness.errors.map(({ during }) => during)).toEqual(["the tool okay of the MCP server odd"]);
  });

  it("supports hundreds of tools on several pages", async () => {
    const began = performance.now();
    const { caller } = await play(odd({ ODD_TOOLS: "300" }), [
      ["odd_tool-299", { id: "x" }],
      ["odd_tool-7", { id: 7 }],
    ]);
    const chars = JSON.stringify(caller.steps[0]?.tools).length;
    expect(caller.offered).toHaveLength(300);
    expect(caller.results[0]).toBe("grown tool");
    expect(String(caller.results[1])).toMatch(/don't fit/);
    expect(chars).toBeGreaterThan(100_000);
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

describe("MCP server that sends a request", () => {
  it("refuses a request to open a URL, with a reason", async () => {
    const { caller } = await play(odd(), [["odd_ask-url"]]);
    expect(String(caller.results[0])).toMatch(/does not support|not supported/i);
  });

  it("declines a request outside of a call", async () => {
    const { caller, ref } = await play(odd(), [["odd_ask-later"], ["odd_received"]]);
    // The server sends the request some time after its response.
    await expect
      .poll(async () => {
        await harness.ask(ref, "again");
        return String(caller.results.at(-1));
      })
      .toContain('later {"action":"decline"}');
  });

  it("declines a request that no form can represent", async () => {
    const { caller, turn } = await play(odd(), [["odd_ask-odd"]]);
    expect(caller.results[0]).toMatch(/decline|refused/);
    expect(outline(turn)).not.toContain("form");
  });
});
