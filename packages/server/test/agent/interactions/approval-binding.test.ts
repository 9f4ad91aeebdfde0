/**
 * Tests that only the approved call runs: a call that changed after it was shown does not run, whatever the decision.
 */
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { type Agent, defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { decideApproval } from "../../../src/session/interactions/decide-approval.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import type { ClosableStore } from "../../../src/store/store.ts";
import { outline, TurnHarness } from "../../engine/turn-harness.ts";

let harness: TurnHarness;
afterEach(() => harness.close());

const trades: number[] = [];
function broker(): Agent {
  const trade = tool({
    input: z.object({ count: z.number() }),
    approval: { editable: true },
    run: ({ count }) => {
      trades.push(count);
      return "traded";
    },
  });
  const model = scriptedModel([[script.toolCall("trade", { count: 5 })], [script.text("done")]]);
  return defineAgent({ name: "broker", model, tools: { trade }, title: false });
}

/** A store that returns a changed journal or changed interactions. */
function altered(what: "journal" | "request"): { store: ClosableStore; alter: () => void } {
  const plain = createMemoryStore();
  let isAltered = false;
  const other = <T>(value: T, from: string, to: string): T =>
    isAltered ? (JSON.parse(JSON.stringify(value).replaceAll(from, to)) as T) : value;
  const journal: ClosableStore["journal"] = {
    ...plain.journal,
    read: async (...of) => other(await plain.journal.read(...of), '"count":5', '"count":500'),
  };
  const interactions: ClosableStore["interactions"] = {
    ...plain.interactions,
    get: async (...of) => other(await plain.interactions.get(...of), '"sha256:', '"sha256:0'),
  };
  const changed = what === "journal" ? { journal } : { interactions };
  return { store: { ...plain, ...changed }, alter: () => (isAltered = true) };
}

test.each([
  ["journal", "approve"],
  ["journal", "edit"],
  ["request", "approve"],
] as const)("W13 a call whose %s was changed does not run: %s", async (what, decision) => {
  const { store, alter } = altered(what);
  harness = await TurnHarness.open({ log: createMemoryLog(), store, signals: createMemorySignals() });
  trades.length = 0;
  const ref = await harness.session();
  const first = await harness.worker([broker()]);
  await harness.send(ref, "trade");
  const [asked] = await harness.until(ref, 40_000, async () => {
    const rows = await store.interactions.list(ref, { pending: true });
    return rows.length > 0 ? rows : null;
  });
  await first.shutdown();
  alter();
  const edit = decision === "edit" ? { input: { count: 6 } } : {};
  const input = { key: asked?.key ?? "", digest: asked?.digest ?? "", decision, ...edit };
  expect(await decideApproval(harness.backend, ref, input)).toMatchObject({ applied: true });
  await harness.worker([broker()]);
  const turn = await harness.ended(ref, () => true);
  expect(trades).toEqual([]);
  expect(outline(turn)).toContain("result trade error This did not work.");
  expect(outline(turn).at(-1)).toBe("text final done");
  const audit = await store.audit.list(ref.tenant, { after: 0, limit: 10 });
  expect(audit.at(-1)).toMatchObject({
    action: "approval.mismatch",
    actor: null,
    subject: expect.stringContaining(asked?.call ?? "") as string,
  });
});
