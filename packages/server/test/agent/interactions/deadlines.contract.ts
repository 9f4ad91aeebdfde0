/** The contract of deadlines of questions and of forms that end their turn: by the model, by the tool, by the agent. */
import { afterEach, describe, expect, it } from "vitest";
import { type FormBlock, listBlocks, type QuestionBlock, type Turn } from "@turnstream/protocol";
import type { Prompt } from "../../../src/models/model.ts";
import { script, type ScriptPart } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { type Agent, defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { answerQuestion } from "../../../src/session/interactions/answer-question.ts";
import { submitForm } from "../../../src/session/interactions/submit-form.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { TurnHarness, type HarnessBackend } from "../../engine/turn-harness.ts";

const FORM = { title: "Contact", fields: [{ name: "email", label: "E-mail", type: "email" }] } as const;
const QUESTION = { questions: [{ question: "Which day?" }] };

export function deadlineContract(makeBackend: () => Promise<HarnessBackend>): void {
  let harness: TurnHarness;
  let prompts: Prompt[];
  const open = async (): Promise<void> => {
    harness = await TurnHarness.open(await makeBackend());
    prompts = [];
  };
  const desk = tool({
    label: "Opening the desk",
    idempotent: true,
    run: (_, context) => context.requestForm(FORM as never, { timeoutMs: 1_000 }),
  });

  /** Calls `first` once, and replies "done" afterwards. */
  function guide(first: ScriptPart, more: { answerTimeoutMs?: number } = {}): Agent {
    const model = scriptedModel(({ prompt }) => {
      prompts.push(prompt);
      return prompt.some(({ role }) => role === "assistant") ? [script.text("done")] : [first];
    });
    const both = { askUser: true, requestForms: true, title: false } as const;
    return defineAgent({ name: "guide", model, tools: { desk }, ...both, ...more });
  }
  const lastPrompt = (): string => JSON.stringify(prompts.at(-1));
  const pending = (ref: SessionRef, kind: "form" | "question") =>
    harness.until(ref, 40_000, async () => {
      const [row] = await harness.backend.store.interactions.list(ref, { pending: true, kind });
      return row ?? null;
    });

  describe("deadline", () => {
    afterEach(() => harness.close());

    it.each([
      ["the model sets", { ...QUESTION, timeout_seconds: 1 }, {}],
      ["the agent sets", QUESTION, { answerTimeoutMs: 1_000 }],
      [
        "the model sets instead of the agent",
        { ...QUESTION, timeout_seconds: 1 },
        { answerTimeoutMs: 600_000 },
      ],
    ] as const)(
      "S07 of a question that %s: the agent reads that there was no answer",
      async (_, input, more) => {
        await open();
        await harness.worker([guide(script.toolCall("ask_user_question", input), more)]);
        const ref = await harness.session();
        const turn = await harness.ask(ref, "book");
        const [block] = blocksOf<QuestionBlock>(turn, "question");
        expect(block).toMatchObject({ status: "timed_out", timeout_seconds: 1, by: null });
        expect((block?.deadline ?? 0) - (block?.started_at ?? 0)).toBeLessThanOrEqual(1_000);
        expect(turn.status).toBe("end_turn");
        expect(lastPrompt()).toContain("did not answer in time");
      },
    );

    it("S07 of a question has no effect if the user answers before", async () => {
      await open();
      await harness.worker([
        guide(script.toolCall("ask_user_question", QUESTION), { answerTimeoutMs: 60_000 }),
      ]);
      const ref = await harness.session();
      await harness.send(ref, "book");
      const { key, deadline } = await pending(ref, "question");
      expect(deadline).toEqual(expect.any(Number));
      await answerQuestion(harness.backend, ref, {
        key,
        answers: [{ question: "q1", selected: [], text: "Sunday" }],
      });
      const turn = await harness.ended(ref, () => true);
      expect(blocksOf<QuestionBlock>(turn, "question")[0]?.status).toBe("answered");
    });

    it("an invalid one is refused, and the model reads what is expected", async () => {
      await open();
      await harness.worker([
        guide(script.toolCall("ask_user_question", { ...QUESTION, timeout_seconds: 0.5 })),
      ]);
      const ref = await harness.session();
      const turn = await harness.ask(ref, "book");
      expect(blocksOf(turn, "question")).toEqual([]);
      expect(lastPrompt()).toContain("must be an integer from 1 to");
      expect(() => defineAgent({ name: "a", model: scriptedModel([]), answerTimeoutMs: 1_500 })).toThrow(
        /answerTimeoutMs.*whole number of seconds.*got 1500/,
      );
    });

    it.each([
      ["the model", script.toolCall("request_form", { ...FORM, timeout_seconds: 1 }), {}],
      ["a tool", script.toolCall("desk"), { answerTimeoutMs: 600_000 }],
      ["the agent", script.toolCall("request_form", FORM), { answerTimeoutMs: 1_000 }],
    ] as const)("S07 of a form that %s sets: the next turn reads that it expired", async (_, call, more) => {
      await open();
      await harness.worker([guide(call, more)]);
      const ref = await harness.session();
      const first = await harness.ask(ref, "write to them");
      expect(first.status).toBe("requires_interaction");
      const [asked] = blocksOf<FormBlock>(first, "form");
      expect(asked?.timeout_seconds).toBe(1);
      const second = await harness.ended(ref, ({ number }) => number === 2);
      expect(second).toMatchObject({ status: "end_turn", resumes: asked?.form });
      expect(lastPrompt()).toContain("it was not submitted in time");
      const state = await harness.state(ref);
      expect(blocksOf<FormBlock>(state.turns.get(0), "form")[0]).toMatchObject({
        status: "expired",
        by: null,
      });
      const form = asked?.form ?? "";
      const late = await submitForm(harness.backend, ref, { form, values: { email: "a@x.test" } });
      expect(late).toMatchObject({ applied: false, reason: "status" });
      expect((await harness.state(ref)).turns.length).toBe(2);
    });

    it("S07 of a form starts no turn if the user went on meanwhile", async () => {
      await open();
      const agents = [guide(script.toolCall("request_form", { ...FORM, timeout_seconds: 2 }))];
      // Without polls, the form doesn't expire before the next message, however slow the machine is.
      const first = await harness.worker(agents, { pollIntervalMs: 600_000 });
      const ref = await harness.session();
      await harness.ask(ref, "write to them");
      await harness.ask(ref, "what is the weather?");
      await first.shutdown();
      await harness.worker(agents);
      await harness.until(ref, 40_000, ({ turns }) =>
        blocksOf<FormBlock>(turns.get(0), "form")[0]?.status === "expired" ? true : null,
      );
      expect(await harness.backend.store.queuedMessages.list(ref)).toEqual([]);
      await harness.ask(ref, "and now?");
      expect(lastPrompt()).toContain("it was not submitted in time");
      expect((await harness.state(ref)).turns.length).toBe(3);
    });
  });
}

function blocksOf<Kind>(turn: Turn | undefined, kind: "form" | "question"): Kind[] {
  if (turn === undefined) return [];
  return listBlocks(turn).filter((block) => block.kind === kind) as unknown as Kind[];
}
