/** The contract of questions: an agent asks the user during a turn, and a button or a plain message answers. */
import { afterEach, describe, expect, it } from "vitest";
import { listBlocks, type QuestionBlock, type Turn } from "@turnstream/protocol";
import type { Prompt } from "../../../src/models/model.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { type Agent, defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { answerQuestion, dismissQuestion } from "../../../src/session/interactions/answer-question.ts";
import { sendMessage } from "../../../src/session/messages/send.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { outline, TurnHarness, type HarnessBackend } from "../../engine/turn-harness.ts";

const ASKED = {
  questions: [
    { question: "Which day?", options: ["Saturday", "Sunday"] },
    { question: "Which meals?", options: ["Breakfast", "Dinner"], multiple: true },
  ],
};

export function questionContract(makeBackend: () => Promise<HarnessBackend>): void {
  let harness: TurnHarness;
  let prompts: Prompt[];
  const open = async (): Promise<void> => {
    harness = await TurnHarness.open(await makeBackend());
    prompts = [];
  };
  function guide(asked: object = ASKED): Agent {
    const look = tool({ label: "Looking", idempotent: true, run: () => "free beds" });
    const model = scriptedModel(({ step, prompt }) => {
      prompts.push(prompt);
      if (step === 0)
        return [
          script.reasoning("hm"),
          script.toolCall("ask_user_question", { ...asked }),
          script.toolCall("look"),
        ];
      return step === 1 ? [script.toolCall("look")] : [script.text("booked")];
    });
    return defineAgent({ name: "guide", model, tools: { look }, askUser: true });
  }

  const waiting = (ref: SessionRef): Promise<QuestionBlock> =>
    harness.until(ref, 40_000, async (state) => {
      const [row] = await harness.backend.store.interactions.list(ref, { pending: true, kind: "question" });
      const block = questionsOf(state.turns.last())[0];
      return row !== undefined && block?.status === "pending" ? block : null;
    });

  describe("question", () => {
    afterEach(() => harness.close());

    it("takes options as texts or as objects with a label", async () => {
      await open();
      await harness.worker([
        guide({
          questions: [{ question: "Which day?", options: ["Saturday", { label: "Sunday" }, { id: 1 }] }],
        }),
      ]);
      const ref = await harness.session();
      await harness.send(ref, "book");
      const { questions } = await waiting(ref);
      expect(questions[0]?.options).toEqual([
        { id: "o1", label: "Saturday" },
        { id: "o2", label: "Sunday" },
      ]);
      await harness.stop(ref);
      await harness.ended(ref, () => true);
    });

    it("is outside of groups, and later steps open a new group", async () => {
      await open();
      await harness.worker([guide()]);
      const ref = await harness.session();
      await harness.send(ref, "book");
      const { key, questions } = await waiting(ref);
      expect(questions.map(({ text }) => text)).toEqual(["Which day?", "Which meals?"]);
      const answers = [
        { question: "q1", selected: ["o2"] },
        { question: "q2", selected: ["o1", "o2"], text: "no meat" },
      ];
      const { by } = { by: harness.actor.user };
      expect(await answerQuestion(harness.backend, ref, { key, answers, userId: by })).toMatchObject({
        applied: true,
      });
      const turn = await harness.ended(ref, () => true);
      expect(outline(turn).map((line) => line.replace(/ \{.*/, ""))).toEqual([
        "(",
        "thinking hm",
        "call hidden ask_user_question",
        "call look",
        "result look success free beds",
        ") Looking",
        "question",
        "result hidden ask_user_question success ",
        "(",
        "call look",
        "result look success free beds",
        ") Looking",
        "text final booked",
      ]);
      const read = JSON.stringify(prompts[1]);
      for (const part of ["Which day?", "Sunday", "Breakfast; Dinner; no meat"]) expect(read).toContain(part);
    });

    it("is answered by a plain message, which starts no turn", async () => {
      await open();
      await harness.worker([guide()]);
      const ref = await harness.session();
      await harness.send(ref, "book");
      await waiting(ref);
      const message = await harness.send(ref, "Sunday, with dinner");
      const turn = await harness.ended(ref, () => true);
      expect(questionsOf(turn)[0]).toMatchObject({ status: "answered", message });
      expect(JSON.stringify(prompts[1])).toContain("Sunday, with dinner");
      const state = await harness.state(ref);
      expect(state.turns.length).toBe(1);
      expect(state.waiting).toEqual([]);
      expect(await harness.backend.store.queuedMessages.list(ref)).toEqual([]);
      // The next message starts a turn again.
      await harness.send(ref, "thanks");
      expect((await waiting(ref)).status).toBe("pending");
      expect((await harness.state(ref)).turns.length).toBe(2);
    });

    it("W15 of several: a message answers all of them, and the agent reads it as such", async () => {
      await open();
      await harness.worker([guide()]);
      const ref = await harness.session();
      await harness.send(ref, "book");
      await waiting(ref);
      await harness.send(ref, "Sunday, with dinner");
      await harness.ended(ref, () => true);
      const read = JSON.stringify(prompts[1]);
      for (const part of ["Which day?", "Sunday, with dinner", "Which meals?", "in one message"])
        expect(read).toContain(part);
    });

    it("W15 without free text is dismissed by another message, which starts the next turn", async () => {
      await open();
      const only = { question: "Which day?", options: ["Saturday", "Sunday"], free_text: false };
      await harness.worker([guide({ questions: [only] })]);
      const ref = await harness.session();
      await harness.send(ref, "book");
      expect((await waiting(ref)).questions[0]?.free_text).toBe(false);
      const message = await harness.send(ref, "Forget it. What is the weather?");
      const turn = await harness.ended(ref, ({ number }) => number === 1);
      expect(questionsOf(turn)[0]).toMatchObject({ status: "dismissed", message: null });
      expect(JSON.stringify(prompts[1])).toContain("did not answer");
      const next = await harness.until(ref, 40_000, ({ turns }) => turns.get(1) ?? null);
      expect(next.message?.id).toBe(message);
      await waiting(ref);
      await harness.send(ref, "sunday");
      await harness.ended(ref, ({ number }) => number === 2);
      expect(JSON.stringify(prompts.at(-1))).toContain("Sunday");
    });

    it.each([
      ["with a file", "This one.", [{ url: "https://files.invalid/report.txt", name: "report.txt" }]],
      ["too long for an answer", `${"word ".repeat(14_000)}and its end`, []],
    ] as const)(
      "W15 is dismissed by a message %s, which starts the next turn with all of it",
      async (_, text, files) => {
        await open();
        await harness.worker([guide({ questions: [{ question: "Which report?" }] })]);
        const ref = await harness.session();
        await harness.send(ref, "book");
        await waiting(ref);
        await sendMessage(harness.backend, ref, { id: "m-2", text, files, userId: harness.actor.user });
        const turn = await harness.ended(ref, ({ number }) => number === 1);
        expect(questionsOf(turn)[0]).toMatchObject({ status: "dismissed", message: null });
        expect(JSON.stringify(prompts[1])).toContain("Their next message is queued");
        await waiting(ref);
        const next = (await harness.state(ref)).turns.get(1);
        expect(next?.message).toMatchObject({ id: "m-2", files });
        const read = JSON.stringify(prompts.at(-1)?.at(-1));
        for (const part of [text, ...files.map(({ name }) => name)]) expect(read).toContain(part);
      },
    );

    it("W15 is answered by a message however many forms are pending", async () => {
      await open();
      const ref = await harness.session();
      const form = { kind: "form", run: "main", block: "b1", index: 1, request: {} } as const;
      for (let n = 0; n < 101; n += 1)
        await harness.backend.store.interactions.request(ref, { ...form, id: `f${n}`, turn: `t${n}` });
      await harness.worker([guide({ questions: [{ question: "Which day?" }] })]);
      await harness.send(ref, "book");
      await waiting(ref);
      const message = await harness.send(ref, "on Sunday");
      const turn = await harness.ended(ref, () => true);
      expect(questionsOf(turn)[0]).toMatchObject({ status: "answered", message });
    });

    it("W15 that is too large is not asked, and the agent has to ask less", async () => {
      await open();
      await harness.worker([guide({ questions: [{ question: "Which day? ".repeat(7_000) }] })]);
      const ref = await harness.session();
      const turn = await harness.ask(ref, "book");
      expect(turn.status).toBe("end_turn");
      expect(questionsOf(turn)).toEqual([]);
      expect(JSON.stringify(prompts[1])).toContain("Ask fewer or shorter questions");
    });

    it("can be dismissed, and the agent continues and reads the reason", async () => {
      await open();
      await harness.worker([guide()]);
      const ref = await harness.session();
      await harness.send(ref, "book");
      const { key } = await waiting(ref);
      await expect(dismissQuestion(harness.backend, ref, { key: "other" })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
      const input = { key, userId: harness.actor.user, reason: "none of your business" };
      expect(await dismissQuestion(harness.backend, ref, input)).toMatchObject({ applied: true });
      expect(await dismissQuestion(harness.backend, ref, input)).toMatchObject({
        applied: false,
        reason: "status",
      });
      const turn = await harness.ended(ref, () => true);
      expect(questionsOf(turn)[0]).toMatchObject({ status: "dismissed", by: harness.actor.user });
      expect(turn.status).toBe("end_turn");
      expect(JSON.stringify(prompts[1])).toContain("none of your business");
    });

    it("accepts only valid answers, and one of many concurrent ones", async () => {
      await open();
      await harness.worker([guide()]);
      const ref = await harness.session();
      await harness.send(ref, "book");
      const { key } = await waiting(ref);
      const good = [
        { question: "q1", selected: ["o1"] },
        { question: "q2", selected: ["o1"] },
      ];
      const bad = [
        [],
        [{ question: "q1", selected: ["o1"] }],
        [...good, { question: "q9", selected: ["o1"] }],
        [{ question: "q1", selected: ["o1", "o2"] }, good[1]],
        [{ question: "q1", selected: ["o9"] }, good[1]],
        [{ question: "q1", selected: [] }, good[1]],
        [good[0], good[0], good[1]],
      ] as (typeof good)[];
      for (const answers of bad)
        await expect(answerQuestion(harness.backend, ref, { key, answers })).rejects.toMatchObject({
          code: "INVALID",
        });
      const many = await Promise.all(
        Array.from({ length: 10 }, () => answerQuestion(harness.backend, ref, { key, answers: good })),
      );
      expect(many.filter(({ applied }) => applied)).toHaveLength(1);
      expect((await harness.ended(ref, () => true)).status).toBe("end_turn");
    });

    it("is withdrawn by a stop, and survives its worker", async () => {
      await open();
      const first = await harness.worker([guide()]);
      const ref = await harness.session();
      await harness.send(ref, "book");
      const { key } = await waiting(ref);
      await first.shutdown();
      await harness.worker([guide()]);
      const again = await waiting(ref);
      expect(again.key).toBe(key);
      await harness.stop(ref);
      const turn = await harness.ended(ref, () => true);
      expect(turn.status).toBe("user_stopped");
      expect(questionsOf(turn).map(({ status }) => status)).toEqual(["cancelled"]);
    });
  });
}

function questionsOf(turn: Turn | undefined): QuestionBlock[] {
  if (turn === undefined) return [];
  return listBlocks(turn).filter((block): block is QuestionBlock => block.kind === "question");
}
