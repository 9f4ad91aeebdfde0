/** The contract of reactions directly after an event, and of forms with file fields. */
import { afterEach, describe, expect, it } from "vitest";
import { listBlocks, type SessionEvent } from "@turnstream/protocol";
import type { Prompt } from "../../../src/models/model.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { answerQuestion } from "../../../src/session/interactions/answer-question.ts";
import { decideApproval } from "../../../src/session/interactions/decide-approval.ts";
import { saveFormDraft } from "../../../src/session/interactions/form-drafts.ts";
import { FormError, submitForm } from "../../../src/session/interactions/submit-form.ts";
import { sendMessage } from "../../../src/session/messages/send.ts";
import { uploadFile } from "../../../src/session/blobs/upload.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { TurnHarness, type HarnessBackend } from "../../engine/turn-harness.ts";

const CV = { title: "CV", fields: [{ name: "cv", label: "CV", type: "file", required: true }] } as const;

export function atOnceContract(makeBackend: () => Promise<HarnessBackend>): void {
  let harness: TurnHarness;

  const trade = tool({ idempotent: true, approval: true, run: () => "traded" });
  const apply = tool({ idempotent: true, run: (_, context) => context.requestForm(CV) });

  /** Reacts to the first event of the type, in the same tick. */
  async function react(
    ref: SessionRef,
    type: SessionEvent["type"],
    reaction: (event: SessionEvent) => Promise<unknown>,
  ): Promise<void> {
    const done = new AbortController();
    for await (const delivery of harness.backend.log.attach(ref, {
      after: "0-0",
      signal: done.signal,
    }))
      for (const { event } of delivery.type === "entries" ? delivery.entries : [])
        if (event.type === type && !done.signal.aborted) {
          await reaction(event);
          done.abort();
        }
  }

  /** A turn that asked for a file, and an upload of its session. */
  async function asked(): Promise<{ ref: SessionRef; form: string; prompts: Prompt[] }> {
    harness = await TurnHarness.open(await makeBackend());
    const prompts: Prompt[] = [];
    const model = scriptedModel(({ prompt, turn, step }) => {
      prompts.push(prompt);
      return turn === 1 && step === 0 ? [script.toolCall("apply")] : [script.text("thanks")];
    });
    await harness.worker([defineAgent({ name: "a", model, tools: { apply }, title: false })]);
    const ref = await harness.session();
    const turn = await harness.ask(ref, "apply");
    const form = listBlocks(turn).find((block) => block.kind === "form")?.form ?? "";
    const body = (async function* () {
      yield new TextEncoder().encode("ten years of bread");
    })();
    await uploadFile(harness.backend, ref, { id: "u-1", name: "cv.md", body, userId: null });
    return { ref, form, prompts };
  }

  describe("immediate reaction", () => {
    afterEach(() => harness.close());

    it("decides an approval directly after its event", async () => {
      harness = await TurnHarness.open(await makeBackend());
      const model = scriptedModel([[script.toolCall("trade")], [script.text("done")]]);
      await harness.worker([defineAgent({ name: "a", model, tools: { trade }, title: false })]);
      const ref = await harness.session();
      const message = await harness.send(ref, "buy");
      await react(ref, "approval.request", async (event) => {
        const { key } = event as Extract<SessionEvent, { type: "approval.request" }>;
        expect(await decideApproval(harness.backend, ref, { key, decision: "approve" })).toMatchObject({
          applied: true,
        });
      });
      const turn = await harness.ended(ref, (one) => one.message?.id === message);
      expect(turn.status).toBe("end_turn");
    });

    it("answers a question directly after its event", async () => {
      harness = await TurnHarness.open(await makeBackend());
      const model = scriptedModel([
        [script.toolCall("ask_user_question", { questions: [{ question: "Which?" }] })],
        [script.text("ok")],
      ]);
      await harness.worker([defineAgent({ name: "a", model, askUser: true, title: false })]);
      const ref = await harness.session();
      await harness.send(ref, "ask");
      await react(ref, "question.request", async (event) => {
        const { key } = event as Extract<SessionEvent, { type: "question.request" }>;
        const answers = [{ question: "q1", selected: [], text: "this" }];
        expect(await answerQuestion(harness.backend, ref, { key, answers })).toMatchObject({ applied: true });
      });
    });

    it("saves a draft directly after a form's event, and fails soon for an unknown form", async () => {
      harness = await TurnHarness.open(await makeBackend());
      const model = scriptedModel([[script.toolCall("apply")], [script.text("thanks")]]);
      await harness.worker([defineAgent({ name: "a", model, tools: { apply }, title: false })]);
      const ref = await harness.session();
      await harness.send(ref, "apply");
      await react(ref, "form.request", async (event) => {
        const { form } = event as Extract<SessionEvent, { type: "form.request" }>;
        await saveFormDraft(harness.backend, ref, { form, values: {} });
      });
      await expect(saveFormDraft(harness.backend, ref, { form: "f-404", values: {} })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    });
  });

  describe("files of a form", () => {
    afterEach(() => harness.close());

    const values = { cv: { upload: "u-1", name: "cv.md" } };

    it("must be uploads of the session", async () => {
      const { ref, form } = await asked();
      const refused = submitForm(harness.backend, ref, {
        form,
        values: { cv: { upload: "u-2", name: "cv.md" } },
      });
      await expect(refused).rejects.toThrow(FormError);
      await expect(refused).rejects.toMatchObject({ problems: [{ field: "cv", problem: "not_uploaded" }] });
    });

    it("are read before the model continues", async () => {
      const { ref, form, prompts } = await asked();
      await submitForm(harness.backend, ref, { form, values });
      await harness.ended(ref, ({ message }) => message?.resumes === form);
      expect(JSON.stringify(prompts.at(-1))).toContain("ten years of bread");
    });

    it("have the name of the upload, whatever the client sends", async () => {
      const { ref, form } = await asked();
      const lie = { upload: "u-1", name: "salary.pdf", media_type: "application/pdf", size: 1 };
      const result = await submitForm(harness.backend, ref, { form, values: { cv: lie } });
      expect(result).toMatchObject({
        applied: true,
        change: { body: { values: { cv: { name: "cv.md" } } } },
      });
      expect(JSON.stringify(result)).not.toContain("pdf");
    });

    it("are read when a message submits the form, in addition to its own files", async () => {
      const { ref, form, prompts } = await asked();
      await sendMessage(harness.backend, ref, { id: "m-2", text: "here", resumes: form, formValues: values });
      await harness.ended(ref, ({ message }) => message?.id === "m-2");
      expect(JSON.stringify(prompts.at(-1))).toContain("ten years of bread");
    });
  });
}
