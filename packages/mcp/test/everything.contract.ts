/**
 * The contract of the reference server's tools in turns: the model's input, the user's view, and recovery from a dead
 * server.
 */
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Block, listBlocks, type Turn } from "@turnstream/protocol";
import type { McpToolOptions } from "../src/options.ts";
import { mcpServer } from "../src/server.ts";
import { outline, TurnHarness, type HarnessBackend } from "../../server/test/engine/turn-harness.ts";
import { Caller, type Wanted } from "./fake-call.ts";
import type { Reached } from "./connect.ts";

export function everythingContract(
  how: string,
  makeBackend: () => Promise<HarnessBackend>,
  reach: () => Promise<Reached>,
): void {
  describe(`reference server over ${how}`, () => {
    let harness: TurnHarness;
    let reached: Reached;
    beforeEach(async () => {
      reached = await reach();
      harness = await TurnHarness.open(await makeBackend());
    });
    afterEach(async () => {
      await harness.close();
      await reached.close();
    });

    async function play(calls: readonly Wanted[], more: McpToolOptions = {}) {
      const caller = new Caller(mcpServer({ ...reached.options, ...more }), calls);
      await harness.worker([caller.agent]);
      const ref = await harness.session();
      const turn = await harness.ask(ref, "go");
      return { caller, turn, ref };
    }

    it("offers its tools, and they return results", async () => {
      const { caller, turn } = await play([
        ["ev_echo", { message: "hello" }],
        ["ev_get-sum", { a: 2, b: 40 }],
      ]);
      expect(caller.offered).toContain("ev_get-structured-content");
      expect(caller.offered.every((name) => /^ev_[\w-]{1,61}$/.test(name))).toBe(true);
      expect(caller.results).toEqual(["Echo: hello", "The sum of 2 and 40 is 42."]);
      expect(outline(turn)).toEqual([
        "(",
        'call ev_echo {"message":"hello"}',
        "result ev_echo success Echo: hello",
        'call ev_get-sum {"a":2,"b":40}',
        "result ev_get-sum success The sum of 2 and 40 is 42.",
        ") Everything: get-sum",
        "text final done",
      ]);
      expect(harness.errors).toEqual([]);
    });

    it("validates arguments with the tool's JSON Schema before the call", async () => {
      const { caller } = await play([["ev_get-sum", { a: "two", b: 40 }]]);
      expect(String(caller.results[0])).toMatch(/^The arguments don't fit the tool ev_get-sum: .*number/s);
    });

    it("shows progress while a tool runs", async () => {
      const long = ["ev_trigger-long-running-operation", { duration: 60, steps: 600 }] as const;
      await harness.worker([new Caller(mcpServer(reached.options), [long]).agent]);
      const ref = await harness.session();
      await harness.send(ref, "go");
      const shown = await harness.until(ref, 40_000, (state) => {
        const parts = resultOf(state.turns.last())?.parts ?? [];
        return parts.length < 3 ? null : parts.map(({ data }) => data);
      });
      expect(shown.slice(0, 3)).toEqual(["1/600", "2/600", "3/600"]);
      await harness.stop(ref);
      expect((await harness.ended(ref, () => true)).status).toBe("user_stopped");
    });

    it("shows images, links and resources, and passes structured content to the model", async () => {
      const { caller, turn } = await play([
        ["ev_get-tiny-image"],
        ["ev_get-structured-content", { location: "Chicago" }],
        ["ev_get-resource-reference", { resourceType: "Text", resourceId: 2 }],
      ]);
      expect(resultOf(turn)?.parts.map(({ media }) => media)).toEqual(["text", "image", "text"]);
      expect(resultOf(turn)?.parts[1]?.data).toMatch(/^data:image\/png;base64,iVBOR/);
      expect(String(caller.results[0])).toMatch(/\[A picture, image\/png, \d+ bytes. The user sees it.\]/);
      expect(caller.results[1]).toEqual({
        temperature: 36,
        conditions: "Light rain / drizzle",
        humidity: 82,
      });
      expect(String(caller.results[2])).toContain("This is a plaintext resource");
    });

    it("returns an error result when the tool fails", async () => {
      const { caller, turn } = await play([
        ["ev_get-resource-reference", { resourceType: "Text", resourceId: 0.5 }],
      ]);
      expect(String(caller.results[0])).toMatch(/Must be a finite positive integer/);
      expect(outline(turn)[2]).toBe("result ev_get-resource-reference error This did not work.");
      expect(turn.status).toBe("end_turn");
    });

    it("waits for approvals, by tool", async () => {
      const caller = new Caller(
        mcpServer({
          ...reached.options,
          approvals: { echo: ({ message }, { tool }) => tool === "echo" && message === "careful" },
        }),
        [["ev_echo", { message: "careful" }]],
      );
      await harness.worker([caller.agent]);
      const ref = await harness.session();
      await harness.send(ref, "go");
      await harness.until(ref, 40_000, (state) =>
        blocksIn(state.turns.last()).some(({ kind }) => kind === "approval") ? true : null,
      );
      await harness.stop(ref);
      const turn = await harness.ended(ref, () => true);
      expect(turn.status).toBe("user_stopped");
    });

    it("returns an error result when the server is killed during a call, and reconnects for the next call", async () => {
      const caller = new Caller(mcpServer(reached.options), [
        ["ev_trigger-long-running-operation", { duration: 60, steps: 600 }],
        ["ev_echo", { message: "back" }],
      ]);
      // On a busy machine, the next call would come before the server is back.
      const serverReady = new AbortController();
      caller.ready = once(serverReady.signal, "abort");
      await harness.worker([caller.agent]);
      const ref = await harness.session();
      await harness.send(ref, "go");
      await harness.until(ref, 40_000, (state) => {
        const result = resultOf(state.turns.last());
        return (result?.parts.length ?? 0) > 1 ? true : null;
      });
      await reached.kill();
      await reached.begin();
      serverReady.abort();
      const turn = await harness.ended(ref, () => true, 20_000);
      expect(turn.status).toBe("end_turn");
      expect(outline(turn)).toContain("result ev_trigger-long-running-operation error This did not work.");
      expect(outline(turn)).toContain("result ev_echo success Echo: back");
      expect(String(caller.results[0])).toMatch(/connection|ended|closed/i);
    });

    it("reconnects to a server that was down between two turns", async () => {
      const { caller, ref } = await play([["ev_echo", { message: "one" }]]);
      await reached.kill();
      await reached.begin();
      const turn = await harness.ask(ref, "again");
      expect(outline(turn)).toContain("result ev_echo success Echo: one");
      expect(caller.results).toContain("Echo: one");
    });
  });
}

function blocksIn(turn: Turn | undefined): Block[] {
  return turn === undefined ? [] : listBlocks(turn);
}

function resultOf(turn: Turn | undefined): Extract<Block, { kind: "tool_result" }> | undefined {
  return blocksIn(turn).find((block) => block.kind === "tool_result");
}
