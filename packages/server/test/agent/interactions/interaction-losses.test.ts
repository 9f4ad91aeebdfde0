/** Tests that interactions survive a lost log, and a wait that is longer than the turn's timeout. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { listBlocks, type FormSchema, isPending } from "@turnstream/protocol";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { type Agent, defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { hostOf } from "../../../src/agent/tool-calls/run-tool.ts";
import { awaitFormInTool } from "../../../src/agent/interactions/form-in-tool.ts";
import { answerQuestion } from "../../../src/session/interactions/answer-question.ts";
import { decideApproval } from "../../../src/session/interactions/decide-approval.ts";
import { submitForm } from "../../../src/session/interactions/submit-form.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import type { SessionRef } from "../../../src/util/refs.ts";
import { outline, TurnHarness } from "../../engine/turn-harness.ts";

const schema: FormSchema = {
  id: "login",
  title: "Who are you?",
  fields: [{ name: "email", label: "Email", type: "email", required: true }],
};
const KINDS = ["approval", "question", "form"] as const;
type Kind = (typeof KINDS)[number];

const LATER_MS = 50;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Asks `times` times in sequence. Next to the first interaction, a tool returns a result while the user is asked. */
function agentThatAsks(kind: Kind, { times = 1, timeoutMs = 60_000 } = {}): Agent {
  const look = tool({
    idempotent: true,
    // The delay makes its result come after the interaction. Once it is journaled, a later attempt writes it before.
    approval: async () => {
      await pause(LATER_MS);
      return false;
    },
    run: () => "seen",
  });
  const act = tool({ approval: true, idempotent: true, run: () => "acted" });
  const login = tool({
    idempotent: true,
    run: async (_, context) => {
      const { scope, call: own } = hostOf(context);
      return (await awaitFormInTool(scope, own, schema, { timeoutSeconds: 600 })).status;
    },
  });
  const ask = {
    approval: script.toolCall("act"),
    question: script.toolCall("ask_user_question", { questions: [{ question: "Which?" }] }),
    form: script.toolCall("login"),
  }[kind];
  const steps = Array.from({ length: times }, () => [ask, script.toolCall("look")]);
  return defineAgent({
    name: "a",
    model: scriptedModel([...steps, [script.text("done")]]),
    tools: { look, act, login },
    askUser: true,
    title: false,
    limits: { timeoutMs: timeoutMs },
  });
}

describe("interaction", () => {
  let harness: TurnHarness;
  afterEach(async () => {
    await harness.close();
    vi.useRealTimers();
  });
  const open = async (): Promise<SessionRef> => {
    harness = await TurnHarness.open({
      log: createMemoryLog(),
      store: createMemoryStore(),
      signals: createMemorySignals(),
    });
    return harness.session();
  };
  /** Returns the key of the nth interaction, once it is pending in the log and in the store. */
  const asked = (ref: SessionRef, nth = 0): Promise<string> =>
    harness.until(ref, 30_000, async (state) => {
      const turn = state.turns.last();
      const block = turn === undefined ? undefined : listBlocks(turn).filter((one) => "version" in one)[nth];
      if (block === undefined || !("version" in block) || !isPending(block)) return null;
      const [row] = await harness.backend.store.interactions.list(ref, { pending: true });
      return row?.key ?? null;
    });
  const decide = async (ref: SessionRef, kind: Kind, key: string): Promise<boolean> => {
    const { backend } = harness;
    const result =
      kind === "approval"
        ? await decideApproval(backend, ref, { key, decision: "approve" })
        : kind === "question"
          ? await answerQuestion(backend, ref, {
              key,
              answers: [{ question: "q1", selected: [], text: "x" }],
            })
          : await submitForm(backend, ref, { form: key, values: { email: "an@example.org" } });
    return result.applied;
  };

  it.each(KINDS.flatMap((kind) => [true, false].map((isDecidedFirst) => ({ kind, isDecidedFirst }))))(
    "survives a lost log: $kind, decided before its worker knows: $isDecidedFirst",
    async ({ kind, isDecidedFirst }) => {
      const ref = await open();
      const first = await harness.worker([agentThatAsks(kind)]);
      await harness.send(ref, "go");
      const key = await asked(ref);
      await harness.until(ref, 30_000, ({ turns }) => {
        const turn = turns.last();
        return turn !== undefined && outline(turn).includes("result look success seen") ? true : null;
      });
      await harness.backend.log.remove(ref);
      if (!isDecidedFirst) await first.shutdown();
      if (isDecidedFirst) expect(await decide(ref, kind, key)).toBe(true);
      if (!isDecidedFirst) {
        await harness.worker([agentThatAsks(kind)]);
        await asked(ref);
        expect(await decide(ref, kind, key)).toBe(true);
      }
      const turn = await harness.ended(ref, () => true, 30_000);
      expect(outline(turn).at(-1)).toBe("text final done");
      const blocks = listBlocks(turn).filter((block) => "version" in block);
      expect(blocks.map((block) => isPending(block))).toEqual([false]);
      if (kind === "form") expect(outline(turn)).toContain("result login success submitted");
      expect(harness.errors).toEqual([]);
    },
  );

  it.each(KINDS)("survives its worker beyond the turn's timeout: %s", async (kind) => {
    // The fake clock advances by itself, and the test skips long waits.
    vi.useFakeTimers({ shouldAdvanceTime: true });
    const ref = await open();
    const agent = agentThatAsks(kind, { timeoutMs: 60_000, times: 2 });
    const first = await harness.worker([agent]);
    await harness.send(ref, "go");
    const key = await asked(ref);
    await vi.advanceTimersByTimeAsync(61_000);
    await first.shutdown();
    const second = await harness.worker([agent]);
    expect(await decide(ref, kind, key)).toBe(true);
    const next = await asked(ref, 1);
    await vi.advanceTimersByTimeAsync(61_000);
    await second.shutdown();
    await harness.worker([agent]);
    expect(await decide(ref, kind, next)).toBe(true);
    const turn = await harness.ended(ref, () => true, 30_000);
    expect(outline(turn).at(-1)).toBe("text final done");
  });
});
