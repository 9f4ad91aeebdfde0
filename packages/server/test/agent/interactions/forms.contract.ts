/**
 * The contract of forms that end their turn: requested by the model or by a tool, submitted later, and continued in the
 * next turn.
 */
import { afterEach, describe, expect, it } from "vitest";
import { listBlocks, type FormBlock, type Turn } from "@turnstream/protocol";
import type { Prompt } from "../../../src/models/model.ts";
import { script, type ScriptPart } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { type Agent, defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { declineForm, submitForm } from "../../../src/session/interactions/submit-form.ts";
import { sendMessage } from "../../../src/session/messages/send.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { outline, TurnHarness, type HarnessBackend } from "../../engine/turn-harness.ts";

const FORM = {
  title: "Contact",
  fields: [
    { name: "email", label: "Your e-mail", type: "email", required: true },
    { name: "topic", label: "What about", type: "select", options: ["Beds", "Food"] },
  ],
} as const;
const values = { email: "an@example.org", topic: "Food" };

export function formContract(makeBackend: () => Promise<HarnessBackend>): void {
  let harness: TurnHarness;
  let prompts: Prompt[];
  const open = async (): Promise<void> => {
    harness = await TurnHarness.open(await makeBackend());
    prompts = [];
  };
  const look = tool({ label: "Looking", idempotent: true, run: () => "free beds" });
  const desk = tool({
    label: "Opening the desk",
    idempotent: true,
    run: (_, context) => context.requestForm(FORM as never),
  });

  /** Replies `first` in its first turn and "thanks" in later ones. */
  function guide(first: readonly ScriptPart[], more: { subAgents?: Record<string, Agent> } = {}): Agent {
    const model = scriptedModel(({ prompt }) => {
      prompts.push(prompt);
      const isNew = !prompt.some(({ role }) => role === "assistant");
      return isNew ? first : [script.text("thanks")];
    });
    return defineAgent({
      name: "guide",
      model,
      tools: { look, desk },
      requestForms: true,
      askUser: true,
      title: false,
      ...more,
    });
  }

  const asked = async (ref: SessionRef): Promise<{ turn: Turn; form: string }> => {
    const turn = await harness.ask(ref, "write to them");
    const [block] = formsOf(turn);
    if (block === undefined) throw new Error(outline(turn).join("\n"));
    return { turn, form: block.form };
  };
  const next = (ref: SessionRef): Promise<Turn> => harness.ended(ref, (turn) => turn.number === 2);

  describe("S07 form", () => {
    afterEach(() => harness.close());

    it("ends the turn outside of groups, after the rest of its step", async () => {
      await open();
      await harness.worker([
        guide([script.reasoning("hm"), script.toolCall("request_form", FORM), script.toolCall("look")]),
      ]);
      const ref = await harness.session();
      const { turn, form } = await asked(ref);
      expect(turn.status).toBe("requires_interaction");
      expect(outline(turn).map((line) => line.replace(/ \{.*/, ""))).toEqual([
        "(",
        "thinking hm",
        "call hidden request_form",
        "call look",
        "result look success free beds",
        "result hidden request_form success ",
        ") Looking",
        "form",
      ]);
      expect(formsOf(turn)[0]?.schema).toEqual({
        id: "contact",
        title: "Contact",
        fields: [
          { name: "email", label: "Your e-mail", type: "email", required: true },
          {
            name: "topic",
            label: "What about",
            type: "select",
            required: false,
            options: [
              { value: "Beds", label: "Beds" },
              { value: "Food", label: "Food" },
            ],
          },
        ],
      });
      expect(await harness.backend.store.interactions.byKey(ref, form)).toMatchObject({ status: "pending" });
      expect(prompts).toHaveLength(1);
    });

    it("is submitted once, and the next turn continues with its values", async () => {
      await open();
      await harness.worker([
        guide([script.toolCall("request_form", FORM)]),
        defineAgent({ name: "z", model: scriptedModel([]) }),
      ]);
      const ref = await harness.session();
      const { form } = await asked(ref);
      const by = harness.actor.user;
      await expect(
        submitForm(harness.backend, ref, { form, values: { email: "no-address", more: 1 }, userId: by }),
      ).rejects.toMatchObject({
        code: "INVALID",
        problems: [
          { field: "email", problem: "not_an_email" },
          { field: "more", problem: "unknown_field" },
        ],
      });
      const results = await Promise.all([
        submitForm(harness.backend, ref, { form, values, userId: by }),
        submitForm(harness.backend, ref, { form, values, userId: by }),
      ]);
      expect(results.filter(({ applied }) => applied)).toHaveLength(1);
      const turn = await next(ref);
      expect(turn).toMatchObject({ resumes: form, status: "end_turn" });
      expect(turn.message).toMatchObject({ text: "", resumes: form });
      expect(outline(turn)).toEqual(["text final thanks"]);
      // The model continues directly after the result, because there is no user message.
      const read = prompts[1] ?? [];
      expect(read.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
      for (const part of ["Your e-mail", "an@example.org", "What about", "Food"])
        expect(JSON.stringify(read.at(-1))).toContain(part);
      const state = await harness.state(ref);
      expect(formsOf(state.turns.get(0))[0]).toMatchObject({ status: "submitted", values, by });
      expect(state.turns.length).toBe(2);
    });

    it("is declined by a command or by a message", async () => {
      await open();
      await harness.worker([guide([script.toolCall("request_form", FORM)])]);
      const ref = await harness.session();
      const { form } = await asked(ref);
      await declineForm(harness.backend, ref, { form, userId: harness.actor.user, reason: "too long" });
      await next(ref);
      expect(JSON.stringify(prompts[1])).toContain("declined");
      expect(JSON.stringify(prompts[1])).toContain("too long");
      const other = await harness.session();
      const second = await asked(other);
      const message = { id: "m1", text: "Just call me", resumes: second.form, userId: harness.actor.user };
      await sendMessage(harness.backend, other, message);
      const turn = await next(other);
      expect(turn.message?.text).toBe("Just call me");
      const [block] = formsOf((await harness.state(other)).turns.get(0));
      expect(block).toMatchObject({ status: "declined", reason: "Just call me" });
      expect(prompts.at(-1)?.at(-1)?.role).toBe("user");
    });

    it("is submitted by the next message, and a message after that only continues from it", async () => {
      await open();
      await harness.worker([guide([script.toolCall("request_form", FORM)])]);
      const ref = await harness.session();
      const { form } = await asked(ref);
      const message = { id: "m1", text: "There you are", resumes: form, userId: harness.actor.user };
      await expect(
        sendMessage(harness.backend, ref, { ...message, formValues: { email: "" } }),
      ).rejects.toMatchObject({ problems: [{ field: "email", problem: "required" }] });
      await expect(sendMessage(harness.backend, ref, { ...message, resumes: "other" })).rejects.toMatchObject(
        {
          code: "NOT_FOUND",
        },
      );
      expect(await sendMessage(harness.backend, ref, { ...message, formValues: values })).toBe("sent");
      const turn = await next(ref);
      expect(turn).toMatchObject({ resumes: form });
      expect(formsOf((await harness.state(ref)).turns.get(0))[0]).toMatchObject({
        status: "submitted",
        values,
      });
      await sendMessage(harness.backend, ref, { ...message, id: "m2", text: "And again" });
      const third = await harness.ended(ref, ({ number }) => number === 3);
      expect(third).toMatchObject({ resumes: form });
    });

    it("accepts no values once it is closed, and then the message isn't sent either", async () => {
      await open();
      const ref = await harness.session();
      const guideWorker = await harness.worker([guide([script.toolCall("request_form", FORM)])]);
      const { form } = await asked(ref);
      await guideWorker.shutdown();
      const { backend, actor } = harness;
      const message = { text: "There you are", resumes: form, userId: actor.user };
      const late = (id: string, given: object) =>
        sendMessage(backend, ref, { ...message, id, formValues: { ...given } });
      await submitForm(backend, ref, { form, values, startNextTurn: false });
      await expect(late("m1", { ...values, topic: "Beds" })).rejects.toMatchObject({
        name: "FormClosedError",
        code: "CONFLICT",
        lost: { current: { status: "submitted" } },
      });
      expect(await backend.store.queuedMessages.list(ref)).toEqual([]);
      // The same values and a repeated message are accepted.
      expect(await late("m1", values)).toBe("sent");
      expect(await late("m1", { ...values, topic: "Beds" })).toBe("already");
      expect((await backend.store.queuedMessages.list(ref)).map(({ id }) => id)).toEqual(["m1"]);
    });

    it("is reported to the model as not filled in while the user asks something else", async () => {
      await open();
      await harness.worker([guide([script.toolCall("request_form", FORM)])]);
      const ref = await harness.session();
      const { form } = await asked(ref);
      await harness.ask(ref, "what is the weather?");
      expect(JSON.stringify(prompts[1])).toContain("has not filled it in");
      await submitForm(harness.backend, ref, { form, values });
      await harness.ended(ref, ({ number }) => number === 3);
      // The form is no longer the last message, so the prompt explains why the turn continues.
      expect(prompts[2]?.at(-1)).toMatchObject({ role: "user" });
      expect(JSON.stringify(prompts[2]?.at(-1))).toContain("an@example.org");
    });

    it("is limited to one at a time, also for a tool", async () => {
      await open();
      await harness.worker([
        guide([
          script.toolCall("desk"),
          script.toolCall("desk"),
          script.toolCall("request_form", FORM),
          script.toolCall("look"),
        ]),
      ]);
      const ref = await harness.session();
      const { turn, form } = await asked(ref);
      expect(formsOf(turn)).toHaveLength(1);
      const results = listBlocks(turn).filter((block) => block.kind === "tool_result");
      expect(results.map(({ status }) => status).toSorted()).toEqual([
        "error",
        "error",
        "success",
        "success",
      ]);
      await submitForm(harness.backend, ref, { form, values });
      await next(ref);
      expect(JSON.stringify(prompts[1])).toContain("Only one request to the user");
      expect(JSON.stringify(prompts[1])).toContain("an@example.org");
    });

    it("is named with its values if another form was requested since, in this turn and in later turns", async () => {
      await open();
      const model = scriptedModel(({ prompt, text }) => {
        prompts.push(prompt);
        if (text.startsWith("ask")) return [script.toolCall("request_form", { ...FORM, title: text })];
        return [script.text("thanks")];
      });
      await harness.worker([defineAgent({ name: "guide", model, requestForms: true, title: false })]);
      const ref = await harness.session();
      const [first] = formsOf(await harness.ask(ref, "ask A"));
      await harness.ask(ref, "ask B");
      await submitForm(harness.backend, ref, { form: first?.form ?? "", values });
      await harness.ended(ref, (turn) => turn.number === 3);
      await harness.ask(ref, "bye");
      for (const [prompt, place] of [
        [prompts[2], -1],
        [prompts[3], -3],
      ] as const) {
        expect(prompt?.at(place)?.role).toBe("user");
        expect(JSON.stringify(prompt?.at(place))).toContain("ask A");
        expect(JSON.stringify(prompt?.at(place))).toContain("an@example.org");
      }
    });

    it.each(["", "Here you are"])(
      "is known to the model if its turn was compacted before, after %j",
      async (reply) => {
        await open();
        const model = scriptedModel(({ prompt, text }) => {
          prompts.push(prompt);
          if (text.startsWith("Sum up")) return [script.text("A form waits.")];
          if (text === "ask") return [script.toolCall("request_form", FORM)];
          return [script.text(`long answer ${"x".repeat(2_000)}`)];
        });
        const compaction = { afterTokens: 500, keepTurns: 1 };
        await harness.worker([
          defineAgent({ name: "guide", model, requestForms: true, title: false, compaction }),
        ]);
        const ref = await harness.session();
        const [block] = formsOf(await harness.ask(ref, "ask"));
        for (const text of ["one", "two", "three"]) await harness.ask(ref, text);
        const form = block?.form ?? "";
        if (reply === "") await submitForm(harness.backend, ref, { form, values });
        else
          await sendMessage(harness.backend, ref, {
            id: "m",
            text: reply,
            resumes: form,
            formValues: values,
          });
        await harness.ended(ref, (turn) => turn.number === 5);
        expect(JSON.stringify(prompts.at(-1))).toContain("an@example.org");
        await harness.ask(ref, "bye");
        expect(JSON.stringify(prompts.at(-1))).toContain("an@example.org");
      },
    );

    it("of a sub-agent ends the turn too, and its siblings finish", async () => {
      await open();
      const clerk = defineAgent({
        name: "clerk",
        model: scriptedModel([[script.toolCall("request_form", FORM)], [script.text("unused")]]),
        requestForms: true,
      });
      const walker = defineAgent({
        name: "walker",
        model: scriptedModel([[script.toolCall("look")], [script.text("walked")]]),
        tools: { look },
      });
      const calls = [script.toolCall("clerk", { task: "ask" }), script.toolCall("walker", { task: "walk" })];
      await harness.worker([guide(calls, { subAgents: { clerk, walker } })]);
      const ref = await harness.session();
      const { turn, form } = await asked(ref);
      expect(turn.status).toBe("requires_interaction");
      expect(turn.runs.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
      expect(outline(turn)).toContain("result walker success walked");
      expect(prompts).toHaveLength(1);
      await submitForm(harness.backend, ref, { form, values });
      await next(ref);
      expect(JSON.stringify(prompts[1]?.at(-1))).toContain("an@example.org");
    });

    it("that can't be shown is an error result for the model, and the turn continues", async () => {
      await open();
      const bad = [
        {},
        { title: "x", fields: [] },
        { title: "x", fields: [{ name: "a", label: "A", type: "color" }] },
        { title: "x", fields: [{ name: "__proto__", label: "A", type: "text" }] },
        { title: "x", fields: [{ name: "a", label: "A", type: "select" }] },
        { title: "x", fields: [{ name: "a", label: "A", type: "number", min: 5, max: 3 }] },
        {
          title: "x",
          fields: [
            { name: "a", label: "A", type: "text" },
            { name: "a", label: "B", type: "text" },
          ],
        },
      ];
      await harness.worker([guide(bad.map((form) => script.toolCall("request_form", form)))]);
      const ref = await harness.session();
      const turn = await harness.ask(ref, "go");
      expect(turn.status).toBe("end_turn");
      expect(formsOf(turn)).toEqual([]);
      expect(JSON.stringify(prompts[1]).split("The form is invalid").length - 1).toBe(bad.length);
    });
  });
}

function formsOf(turn: Turn | undefined): FormBlock[] {
  return turn === undefined ? [] : listBlocks(turn).filter((block) => block.kind === "form");
}
