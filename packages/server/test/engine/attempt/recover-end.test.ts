/**
 * Tests the commit that a turn's last step and its end share: it saves a commit, and a worker that dies around it loses
 * neither usage nor the results of tools. In memory.
 */
import { once } from "node:events";
import { isFull } from "@turnstream/conformance/support/cases.ts";
import { expect, it } from "vitest";
import { z } from "zod";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { type Agent, defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { readTurnResult } from "../../../src/session/history/turn-result.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { startCrashingTurn } from "../crashing-turn.ts";
import { TurnHarness } from "../turn-harness.ts";

const input = z.object({});
const text = tool({ input, idempotent: true, run: () => "A plain result." });
const json = tool({ input, idempotent: true, run: () => ({ rows: [1, 2, 3] }) });
/** The model reads more than users see. */
const long = tool({ input, idempotent: true, run: () => ({ content: "A long result.", preview: "Short." }) });

/** How many of the last writes of a turn a test on a push covers. The first of them is before the last step. */
const LAST_CALLS = 6;

/** All results are those of the last calls, so that they are committed with the end or right before it. */
function cast(names: readonly string[]): Agent {
  const model = scriptedModel([names.map((name) => script.toolCall(name, {})), [script.text("All done.")]]);
  const pricing = { inputPerMillion: 2, outputPerMillion: 10 };
  return defineAgent({ name: "a", model, tools: { text, json, long }, title: false, pricing });
}

async function play(names: readonly string[], afterCalls: number, isExecuted: boolean) {
  const { parts, harness, ref, message, died, crashPoint } = await startCrashingTurn(() => cast(names), {
    afterCalls,
    isExecuted,
  });
  const turn = await harness.ended(ref, (one) => one.message?.id === message);
  const [used] = await parts.store.usage.list(ref.tenant, "2000-01-01", "2999-12-31");
  const end = await readTurnResult(harness.backend, ref, { turn: turn.id });
  const content = end?.output.flatMap((item) => (item.type === "tool_result" ? [item.content] : []));
  const { day: _, ...usage } = used ?? { day: "" };
  const left = (await parts.store.journal.read(ref, turn.id)).map(({ key }) => key.split("/")[0]);
  await harness.close();
  const { status, usage: shown } = turn;
  return { calls: crashPoint.calls, died, result: { status, shown, usage, content, left } };
}

it.each([
  { what: "events show all of the results", names: ["text", "json"] },
  { what: "the model reads more than the events show", names: ["text", "json", "long"] },
])(
  "a worker that dies before the end loses no usage and no result, if $what",
  async ({ names }) => {
    const whole = await play(names, Infinity, false);
    expect(whole.result.shown).toMatchObject({ calls: 2 });
    expect(whole.result.content).toHaveLength(names.length);
    const died = new Set<string>();
    for (let afterCalls = isFull ? 0 : whole.calls - LAST_CALLS; afterCalls < whole.calls; afterCalls++)
      for (const isExecuted of [false, true]) {
        const one = await play(names, afterCalls, isExecuted);
        expect(one.result, `death after ${afterCalls} calls at ${one.died.join()}`).toEqual(whole.result);
        for (const name of one.died) died.add(name);
      }
    expect([...died]).toEqual(expect.arrayContaining(["log.append", "transaction"]));
  },
  120_000,
);

it("the last step and the end of a turn are one commit", async () => {
  const store = createMemoryStore();
  const harness = await TurnHarness.open({
    log: createMemoryLog(),
    store,
    signals: createMemorySignals(),
  });
  const commits: string[] = [];
  const counted = {
    ...store,
    transaction: ((work) => {
      commits.push("transaction");
      return store.transaction(work);
    }) as typeof store.transaction,
    archive: {
      ...store.archive,
      write: (...args: Parameters<typeof store.archive.write>) => {
        commits.push("archive");
        return store.archive.write(...args);
      },
    },
    journal: {
      ...store.journal,
      write: (...args: Parameters<typeof store.journal.write>) => {
        commits.push("journal");
        return store.journal.write(...args);
      },
    },
  };
  await harness.worker([cast(["text", "json"])], { store: counted });
  await harness.ask(await harness.session(), "go");
  // The first step, and the second one with the end. The start of a turn is one statement.
  expect(commits).toEqual(["archive", "transaction"]);
  await harness.close();
});

it("a reader gets the results of a turn whose end is not committed yet", async () => {
  const store = createMemoryStore();
  const harness = await TurnHarness.open({
    log: createMemoryLog(),
    store,
    signals: createMemorySignals(),
  });
  const gate = new AbortController();
  const opened = once(gate.signal, "abort");
  const delayed = {
    ...store,
    transaction: (async (work) => {
      await opened;
      return store.transaction(work);
    }) as typeof store.transaction,
  };
  await harness.worker([cast(["text", "json", "long"])], { store: delayed });
  const ref = await harness.session();
  await harness.send(ref, "go");
  const turn = await harness.until(ref, 30_000, ({ turns }) => {
    const last = turns.last();
    return last === undefined || last.status === "running" ? null : last.id;
  });
  expect(await store.running.get(ref)).not.toBeNull();
  const before = await readTurnResult(harness.backend, ref, { turn });
  gate.abort();
  await harness.ended(ref, ({ id }) => id === turn);
  expect(before).toEqual(await readTurnResult(harness.backend, ref, { turn }));
  expect(JSON.stringify(before)).toContain("A long result.");
  await harness.close();
});
